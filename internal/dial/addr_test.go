package dial

import (
	"net/netip"
	"testing"
)

func TestReason(t *testing.T) {
	for addr, want := range map[string]string{
		"0.0.0.0":                "unspecified",
		"0.1.2.3":                "unspecified",
		"10.1.2.3":               "private",
		"100.64.0.1":             "carrier-grade NAT",
		"100.100.100.200":        "carrier-grade NAT", // Alibaba Cloud's metadata
		"127.0.0.1":              "loopback",
		"127.255.255.254":        "loopback",
		"168.63.129.16":          "cloud metadata",
		"169.254.169.254":        "link-local",
		"172.16.0.1":             "private",
		"172.31.255.255":         "private",
		"192.0.0.192":            "special-purpose", // Oracle Cloud's metadata
		"192.168.0.1":            "private",
		"198.18.0.1":             "benchmarking",
		"198.19.255.255":         "benchmarking",
		"224.0.0.1":              "multicast",
		"255.255.255.255":        "reserved",
		"::":                     "unspecified",
		"::1":                    "loopback",
		"::7f00:1":               "reserved", // IPv4-compatible
		"::ffff:127.0.0.1":       "loopback",
		"::ffff:169.254.169.254": "link-local",
		"64:ff9b::7f00:1":        "loopback",
		"64:ff9b::a9fe:a9fe":     "link-local",
		"64:ff9b:1::1":           "reserved",
		"100::1":                 "reserved",
		"2001::1":                "special-purpose",
		"2001:db8::1":            "documentation",
		"2002:7f00:1::":          "6to4",
		"2002:808:808::":         "6to4",
		"fc00::1":                "private",
		"fd00:ec2::254":          "private", // AWS metadata
		"fe80::1%eth0":           "link-local",
		"fec0::1":                "reserved",
		"ff02::1":                "multicast",

		"1.1.1.1":              "",
		"100.63.255.255":       "",
		"100.128.0.0":          "",
		"172.15.255.255":       "",
		"172.32.0.0":           "",
		"198.17.255.255":       "",
		"198.20.0.0":           "",
		"223.255.255.255":      "",
		"::ffff:8.8.8.8":       "",
		"64:ff9b::808:808":     "",
		"2400:3200::1":         "",
		"2606:4700:4700::1111": "",
	} {
		if got := reason(canonical(netip.MustParseAddr(addr))); got != want {
			t.Errorf("reason(%s) = %q, want %q", addr, got, want)
		}
	}
	if reason(netip.Addr{}) == "" {
		t.Error("the zero address is allowed")
	}
}

func FuzzPrivateIPv4IsRefusedInEveryForm(f *testing.F) {
	f.Add([]byte{127, 0, 0, 1})
	f.Add([]byte{169, 254, 169, 254})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) != 4 {
			return
		}
		v4 := netip.AddrFrom4([4]byte(b))
		want := reason(v4) != ""
		if private := v4.IsPrivate() || v4.IsLoopback() || v4.IsLinkLocalUnicast() || v4.IsMulticast() || v4.IsUnspecified(); private && !want {
			t.Fatalf("%s is allowed", v4)
		}
		mapped := netip.AddrFrom16(v4.As16())
		translated := nat64.Addr().As16()
		copy(translated[12:], b)
		for _, form := range []netip.Addr{mapped, netip.AddrFrom16(translated)} {
			if got := reason(canonical(form)) != ""; got != want {
				t.Errorf("%s: refused is %v, %s: %v", form, got, v4, want)
			}
		}
	})
}
