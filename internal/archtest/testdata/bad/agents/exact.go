// Package agents has a row of its own, which counts before the one of its surroundings.
package agents

import _ "github.com/chatkeep/chatkeep/agents/toolloop" // want layer
