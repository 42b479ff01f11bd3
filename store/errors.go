package store

import "errors"

// Sentinels. Implementations wrap them with detail; test with errors.Is.
var (
	// ErrNotFound means that the session, message, delivery or slot is not there.
	ErrNotFound = errors.New("store: not found")
	// ErrExists means that it is there already.
	ErrExists = errors.New("store: already exists")
	// ErrConflict means that the row is not in a state that allows the change.
	ErrConflict = errors.New("store: conflict")
	// ErrQueueFull means that a session has as many waiting messages as it may have.
	ErrQueueFull = errors.New("store: queue is full")
	// ErrLeaseLost means that somebody else holds the lane or target by now, or may.
	ErrLeaseLost = errors.New("store: lease lost")
	// ErrStopped means that the message got its outcome while its turn was running
	// (stop, recall, reset, delete, interrupt); nothing of the turn was stored.
	ErrStopped = errors.New("store: turn was stopped")
	// ErrAliasTaken means that a thread alias came to name another thread meanwhile;
	// resolve again and repeat.
	ErrAliasTaken = errors.New("store: thread alias names another thread")
	// ErrTooLarge means that a value is larger than its limit in package models.
	ErrTooLarge = errors.New("store: too large")
	// ErrInvalid means that a value can never be stored: an empty id, invalid UTF-8, a NUL byte.
	ErrInvalid = errors.New("store: invalid value")
	// ErrUnavailable means that the database could not be reached or did not answer in time.
	ErrUnavailable = errors.New("store: database unavailable")
	// ErrSchemaNewer means that the schema is newer than this binary can run on.
	ErrSchemaNewer = errors.New("store: schema is newer than this binary supports")
	// ErrLocked means that another server holds the database file.
	ErrLocked = errors.New("store: database is in use by another server")
)
