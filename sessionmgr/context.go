package sessionmgr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
)

type (
	sessionKey struct{}
	managerKey struct{}
)

// ErrNoSession is returned where a context carries no session or no manager.
var ErrNoSession = errors.New("no session in the context")

// WithSession returns a context that belongs to the session. A nil session hides
// an outer one.
func WithSession(ctx context.Context, session *models.Session) context.Context {
	key := ""
	if session != nil {
		key = session.Key
	}
	return context.WithValue(WithSessionKey(ctx, key), sessionKey{}, session)
}

// SessionFromContext returns the session that ctx belongs to, as it was when it
// was put there.
func SessionFromContext(ctx context.Context) (*models.Session, bool) {
	session, _ := ctx.Value(sessionKey{}).(*models.Session)
	return session, session != nil
}

// WithSessionKey returns a context that belongs to the session with the key.
func WithSessionKey(ctx context.Context, key string) context.Context {
	return chatctx.WithSessionKey(ctx, key)
}

// SessionKeyFromContext returns the key of the session that ctx belongs to.
func SessionKeyFromContext(ctx context.Context) (string, bool) {
	return chatctx.SessionKeyFromContext(ctx)
}

// WithSessionManager returns a context that carries the manager.
func WithSessionManager(ctx context.Context, mgr SessionManager) context.Context {
	return context.WithValue(ctx, managerKey{}, mgr)
}

// SessionManagerFromContext returns the manager that ctx carries.
func SessionManagerFromContext(ctx context.Context) (SessionManager, bool) {
	mgr, _ := ctx.Value(managerKey{}).(SessionManager)
	return mgr, mgr != nil
}

// NewSessionContext returns a context that carries the manager and the session
// that req means, which is created if need be.
func NewSessionContext(ctx context.Context, mgr SessionManager, req SessionRequest) (context.Context, error) {
	if mgr == nil {
		return ctx, fmt.Errorf("new session context: %w: no session manager", ErrInvalid)
	}
	session, err := mgr.GetOrCreate(ctx, req)
	if err != nil {
		return ctx, fmt.Errorf("new session context: %w", err)
	}
	return WithSession(WithSessionManager(ctx, mgr), session), nil
}

// GetVariable returns a variable of the session in the context, or the default if
// there is none, it is of another type, or it cannot be read.
func GetVariable[T any](ctx context.Context, name string, def T) T {
	values, err := Variables(ctx)
	if err != nil {
		return def
	}
	raw, exists := values[name]
	if !exists {
		return def
	}
	var value T
	if err := json.Unmarshal(raw, &value); err != nil {
		return def
	}
	return value
}

// SetVariable sets a variable of the session in the context to what value is in JSON.
func SetVariable(ctx context.Context, name string, value any) error {
	key, store, err := variablesOf(ctx)
	if err != nil {
		return fmt.Errorf("set variable: %w", err)
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("set variable: %w: %w", ErrInvalid, err)
	}
	return store.SetVariable(ctx, key, name, raw)
}

// DeleteVariable removes a variable of the session in the context, if there is one.
func DeleteVariable(ctx context.Context, name string) error {
	key, store, err := variablesOf(ctx)
	if err != nil {
		return fmt.Errorf("delete variable: %w", err)
	}
	return store.DeleteVariable(ctx, key, name)
}

// Variables returns all variables of the session in the context, as JSON values.
func Variables(ctx context.Context) (map[string]json.RawMessage, error) {
	key, store, err := variablesOf(ctx)
	if err != nil {
		return nil, fmt.Errorf("variables: %w", err)
	}
	return store.Variables(ctx, key)
}

func variablesOf(ctx context.Context) (string, VariableStorage, error) {
	key, hasKey := SessionKeyFromContext(ctx)
	mgr, hasManager := SessionManagerFromContext(ctx)
	if !hasKey || !hasManager {
		return "", nil, ErrNoSession
	}
	store, ok := mgr.(VariableStorage)
	if !ok {
		return "", nil, ErrVariablesUnsupported
	}
	return key, store, nil
}
