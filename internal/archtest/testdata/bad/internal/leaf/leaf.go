// Package leaf is internal and looks up.
package leaf

import _ "github.com/chatkeep/chatkeep/store" // want layer
