package config

func (k *checker) session() {
	s := k.config.Session
	if t := s.Compaction.TriggerThreshold; t == 0 || t > 1 {
		k.fail("session.compaction.triggerThreshold", "must be above 0 and at most 1: 0.8 starts at 80 %%")
	}
	if s.Compaction.Agent != "" {
		k.agent("session.compaction.agent", s.Compaction.Agent)
	}
	seen := map[string]names{} // ids are unique per agent
	for i, slot := range s.Slots {
		path := at("session.slots", i)
		if seen[slot.Agent] == nil {
			seen[slot.Agent] = names{}
		}
		k.name(seen[slot.Agent], path+".id", slot.ID)
		if slot.ID == "default" {
			k.fail(path+".id", "every session has a slot default of its own: choose another")
		}
		k.agent(path+".agent", slot.Agent)
		if len(slot.Messages) == 0 {
			k.fail(path+".messages", "needs at least one message")
		}
		for j, m := range slot.Messages {
			k.required(at(path+".messages", j)+".content", m.Content, "write the text")
		}
	}
}

func (k *checker) lifecycle() {
	l := k.config.Lifecycle
	for _, job := range []struct{ key, spec string }{
		{"prune", l.Prune}, {"compact", l.Compact}, {"idle", l.Idle}, {"archive", l.Archive}, {"expire", l.Expire},
	} {
		if job.spec == "" {
			continue
		}
		if err := checkSchedule(job.spec); err != nil {
			k.fail("lifecycle."+job.key, "%s", err)
		}
	}
}
