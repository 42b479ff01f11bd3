package models

import "time"

// Note is one line that a session remembers.
type Note struct {
	ID string `json:"id"`
	// Key names what the note is about; at most one note has a given key. Empty: none.
	Key       string    `json:"key"`
	Value     string    `json:"value"`
	CreatedAt time.Time `json:"createdAt"`
}

// Limits on what a session keeps beside its messages.
const (
	// MaxNote is the longest value of a note, in bytes.
	MaxNote = 4 << 10
	// MaxNotes is how many notes a session keeps.
	MaxNotes = 1000
	// MaxVariable is the longest value of a variable, as JSON, in bytes.
	MaxVariable = 64 << 10
	// MaxVariables is how many variables a session keeps.
	MaxVariables = 200
	// MaxPlanFile is the longest plan file, in bytes.
	MaxPlanFile = 256 << 10
)

// PlanFiles are the names of a session's plan files.
func PlanFiles() []string { return []string{"PLAN.md", "TODO.md"} }
