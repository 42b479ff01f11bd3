package config

import "github.com/chatkeep/chatkeep/internal/cronspec"

// checkSchedule checks a spec: 5 cron fields, or @every with 1s or more.
func checkSchedule(spec string) error { return cronspec.Check(spec) }
