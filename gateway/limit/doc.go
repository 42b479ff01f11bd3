// Package limit says how much people, chats and agents may use, and how a use stands
// to that.
//
// It owns the arithmetic: budgets of a day, who is exempt, when a warning is due. It
// must not know where uses are counted or how a refusal is said.
package limit
