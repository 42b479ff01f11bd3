package httpapi

import (
	"fmt"
	"strconv"

	"github.com/gin-gonic/gin"
)

// page is the form of every list.
type page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor"`
}

func pageOf[T any](items []T, next string) page[T] {
	if items == nil {
		items = []T{}
	}
	return page[T]{items, next}
}

// Sizes of a page.
const (
	defaultPage = 50
	maxPage     = 500
)

// limit reads ?limit=.
func limit(c *gin.Context) (int, error) { return limitOr(c, defaultPage) }

// limitOr is limit with another default.
func limitOr(c *gin.Context, otherwise int) (int, error) {
	raw := c.Query("limit")
	if raw == "" {
		return otherwise, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil || n < 1 || n > maxPage {
		return 0, invalid(fmt.Sprintf("limit must be a number from 1 to %d", maxPage))
	}
	return n, nil
}
