package key

import (
	"maps"
	"slices"
	"strings"
)

// Identities links the accounts of one person on several channels. The zero
// value links nobody.
type Identities struct{ names map[peerID]string }

type peerID struct{ channel, account, user string }

// NewIdentities reads links of the form name → "channel/account/id", split at
// the first two slashes. A link that two names claim is an [ErrInvalid].
func NewIdentities(links map[string][]string) (Identities, error) {
	names := make(map[peerID]string)
	for _, name := range slices.Sorted(maps.Keys(links)) {
		if err := checkName("identity", name); err != nil {
			return Identities{}, err
		}
		for _, link := range links[name] {
			id, err := parseLink(link)
			if err != nil {
				return Identities{}, err
			}
			if other, taken := names[id]; taken && other != name {
				return Identities{}, invalid("%q is linked to %s and to %s", truncate(link), other, name)
			}
			names[id] = name
		}
	}
	return Identities{names}, nil
}

// Name returns the identity that a person's account is linked to.
func (i Identities) Name(channel, account, userID string) (string, bool) {
	name, linked := i.names[peerID{channel, account, userID}]
	return name, linked
}

func parseLink(link string) (peerID, error) {
	parts := strings.SplitN(link, "/", 3)
	if len(parts) != 3 {
		return peerID{}, invalid("identity link %q is not channel/account/id", truncate(link))
	}
	if err := checkName("channel", parts[0]); err != nil {
		return peerID{}, err
	}
	if err := checkName("account", parts[1]); err != nil {
		return peerID{}, err
	}
	return peerID{parts[0], parts[1], parts[2]}, checkID("user id", parts[2])
}
