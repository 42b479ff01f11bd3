// Package models is the bottom and imports a store.
package models

import _ "github.com/chatkeep/chatkeep/store" // want layer
