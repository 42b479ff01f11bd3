// Package store holds the contract of the one durable state of the program:
// sessions and their messages, the inbox, lanes, the outbox.
//
// It is made of small roles; a caller asks for the smallest one it needs. What
// must be atomic is one method: [Inbox.Accept], [Turns.CommitTurn],
// [Sessions.ChangeSession]. Implementations are the sub-packages; storetest is
// the suite that each of them passes.
//
// # Rules that every implementation keeps
//
//   - Ids and keys are compared byte for byte: case, trailing blanks and all.
//   - Everything that changes a session first locks its lane, so that what
//     follows in the same transaction sees all that came before.
//   - Sequence numbers are taken under that lock. Order is the sequence, never a time.
//   - Leases are measured by the database's clock. A fence, never a clock, decides
//     whether a holder may still commit.
//   - Transactions that lost a deadlock or a lock wait are run again as a whole, a
//     bounded number of times, inside the implementation.
//   - Every query is bounded and served by an index.
//
// The package must not know what a message means, who may do what, or how a
// platform is reached.
package store
