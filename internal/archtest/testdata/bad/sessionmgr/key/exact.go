// Package key has a row of its own, which counts before the one of its surroundings.
package key

import _ "github.com/chatkeep/chatkeep/store" // want layer
