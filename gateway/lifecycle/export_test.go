package lifecycle

import (
	"io"
	"time"
)

// SetPassTime bounds passes more tightly.
func (r *Runner) SetPassTime(d time.Duration) { r.passTime = d }

// Verify checks an exported document.
func Verify(r io.Reader, key string) error { return verify(r, key) }
