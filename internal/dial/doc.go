// Package dial owns the one guarded way to reach a URL that somebody else chose:
// pictures in a message, pushed targets, tool downloads. It decides by the
// address that is about to be connected to, on every connection, so neither a
// redirect nor a name that changes its answer gets to an internal service.
//
// It must not know who asks or what is fetched; sizes and content types are the
// caller's business. Addresses that the operator wrote into the configuration
// (agents, platforms) need no guard.
package dial
