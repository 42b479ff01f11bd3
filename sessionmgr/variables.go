package sessionmgr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// memoryVariables keeps variables for as long as the process lives.
type memoryVariables struct {
	mu     sync.RWMutex
	values map[string]map[string]json.RawMessage // by session key and name
}

func (v *memoryVariables) Variables(_ context.Context, key string) (map[string]json.RawMessage, error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	values := make(map[string]json.RawMessage, len(v.values[key]))
	for name, value := range v.values[key] {
		values[name] = bytes.Clone(value)
	}
	return values, nil
}

func (v *memoryVariables) SetVariable(_ context.Context, key, name string, value json.RawMessage) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.values == nil {
		v.values = make(map[string]map[string]json.RawMessage)
	}
	if v.values[key] == nil {
		v.values[key] = make(map[string]json.RawMessage)
	}
	v.values[key][name] = bytes.Clone(value)
	return nil
}

func (v *memoryVariables) DeleteVariable(_ context.Context, key, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.values[key], name)
	if len(v.values[key]) == 0 {
		delete(v.values, key)
	}
	return nil
}

func (v *memoryVariables) forget(key string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.values, key)
}

// The manager that New returns is a VariableStorage as well: that is how the
// variables of the session in a context are reached.
var _ VariableStorage = (*manager)(nil)

// Variables implements [VariableStorage].
func (m *manager) Variables(ctx context.Context, key string) (map[string]json.RawMessage, error) {
	values, err := m.variables.Variables(ctx, key)
	if err != nil {
		return nil, fmt.Errorf("variables: %w", err)
	}
	return values, nil
}

// SetVariable implements [VariableStorage].
func (m *manager) SetVariable(ctx context.Context, key, name string, value json.RawMessage) error {
	if err := checkVariable(name, value); err != nil {
		return fmt.Errorf("set variable: %w", err)
	}
	unlock, err := m.locks.lock(ctx, key)
	if err != nil {
		return fmt.Errorf("set variable: %w", err)
	}
	defer unlock()
	if _, err := m.get(ctx, key); err != nil {
		return fmt.Errorf("set variable: %w", err)
	}
	if err := m.variables.SetVariable(ctx, key, name, value); err != nil {
		return fmt.Errorf("set variable: %w", err)
	}
	return nil
}

// DeleteVariable implements [VariableStorage].
func (m *manager) DeleteVariable(ctx context.Context, key, name string) error {
	if err := m.variables.DeleteVariable(ctx, key, name); err != nil {
		return fmt.Errorf("delete variable: %w", err)
	}
	return nil
}
