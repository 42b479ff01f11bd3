// Package unknown has no row in the table, so it may import nothing of ours.
package unknown

import _ "github.com/chatkeep/chatkeep/models" // want layer
