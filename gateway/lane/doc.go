// Package lane runs the turns of sessions: one at a time per session, as many
// sessions at once as there are workers.
//
// It owns claiming, renewing and handing back lanes, and cancelling the turns of
// those that were lost or stopped. It must not know what a turn does.
package lane
