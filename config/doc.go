// Package config owns the configuration file: its typed shape, its defaults,
// how it is put together and every rule it must satisfy.
//
// A configuration is built in layers, later ones winning:
//
//	defaults → file (YAML or JSON) → CHATKEEP_* environment → options of the caller (flags)
//
// [Load] reports all problems at once as [Errors], each with its key path,
// where it was written and one line that says what to do. A [Config] that Load
// returned is complete: values that follow from others (an account's agent, a
// task's zone, secrets kept in files) are filled in.
//
// Secrets have types of their own ([Secret], [URL], [DSN]) that hide themselves
// whenever they are printed, marshalled or logged; Reveal is the only way to
// their content.
//
// The package knows no adapter, agent, store or gateway: they have their own
// settings, and the program's wiring translates.
package config
