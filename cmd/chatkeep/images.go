package main

import (
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/dial"
)

// imageGuard reaches pictures that callers name by their URL: public ones, and private
// ones that the operator allows. What else the configuration names is not for callers.
func imageGuard(cfg *config.Config) (*dial.Guard, error) {
	policy, err := dial.ParsePolicy(cfg.Egress.AllowPrivate, nil)
	if err != nil {
		return nil, err
	}
	return dial.New(policy), nil
}
