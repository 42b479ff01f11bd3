package compact

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

// BenchmarkSummarise is what a summary of a thousand long messages costs besides the
// model, identifiers included.
func BenchmarkSummarise(b *testing.B) {
	var history []*models.SessionMessage
	for i := range mostMessages {
		role := []models.Role{models.RoleUser, models.RoleAssistant}[i%2]
		text := strings.Repeat(fmt.Sprintf("message %d of order ORD-%d costs 12,345.67 and ", i, 1000+i), 30)
		history = append(history, &models.SessionMessage{Seq: int64(i + 1), Role: role, Content: text})
	}
	for b.Loop() {
		m := &scribe{}
		s, err := newSummariser(m.ask, 128_000, "")
		if err != nil {
			b.Fatal(err)
		}
		text, err := s.summarise(b.Context(), "", history, 0)
		if err != nil {
			b.Fatal(err)
		}
		s.complete(text, collect("", history), 2000)
	}
}
