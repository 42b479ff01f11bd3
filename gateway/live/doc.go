// Package live shows operators what happens on this replica while it happens.
//
// It owns the events' shapes, the bounded buffer of the latest ones, and who follows
// them. It must not know what happens: whoever does something publishes it. Events
// hold ids, keys, states and codes; never what somebody wrote, or an error's text.
package live
