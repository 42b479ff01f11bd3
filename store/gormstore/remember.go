package gormstore

import (
	"encoding/json"

	"github.com/chatkeep/chatkeep/models"
)

// rememberOnDelivery marks deliveries whose texts become part of a session once they are
// delivered; nil: of none.
func rememberOnDelivery(t *tx, deliveries []*models.Delivery, session *models.Session) error {
	if session == nil || len(deliveries) == 0 {
		return nil
	}
	text, err := json.Marshal(session)
	if err != nil {
		return err
	}
	args := make([]any, 0, 1+len(deliveries))
	args = append(args, string(text))
	for _, d := range deliveries {
		args = append(args, d.ID)
	}
	_, err = t.exec("UPDATE deliveries SET remember = ? WHERE id IN "+values(1, len(deliveries)), args...)
	return err
}
