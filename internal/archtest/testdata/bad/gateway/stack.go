package gateway

import "runtime/debug"

var stack = debug.Stack // want banned
