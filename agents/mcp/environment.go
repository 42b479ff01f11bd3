package mcp

import (
	"slices"
	"strings"
)

// passedOn are the variables of ours that a program needs to run at all and to reach
// the network, in upper case.
var passedOn = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "TEMP", "TMP",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
	// Windows
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "OS", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS",
	"USERNAME", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
	"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432",
}

// environment is what a server's program gets to see: of ours, which holds secrets, no
// more than it takes to run, and what is added for it.
func environment(ours []string, added map[string]string) []string {
	var theirs []string
	for _, v := range ours {
		name, _, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name) // proxies are written either way, and on Windows everything is
		if slices.Contains(passedOn, name) || strings.HasPrefix(name, "LC_") {
			theirs = append(theirs, v)
		}
	}
	for name, value := range added { // the last one of a name counts
		theirs = append(theirs, name+"="+value)
	}
	return theirs
}
