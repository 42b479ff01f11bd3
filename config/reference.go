package config

import _ "embed" // for reference.yaml

//go:embed reference.yaml
var reference string

// Reference returns a configuration file that explains every key and holds its
// default; what the file marks as an example has none.
func Reference() string { return reference }
