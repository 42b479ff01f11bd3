package feishu

import (
	"context"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkcardkit "github.com/larksuite/oapi-sdk-go/v3/service/cardkit/v1"
)

const cardJSON = "card_json"

// createCard makes a card entity, still invisible, and returns its id.
func (a *api) createCard(ctx context.Context, card string) (string, error) {
	kind := cardJSON
	req := larkcardkit.NewCreateCardReqBuilder().Body(&larkcardkit.CreateCardReqBody{Type: &kind, Data: &card}).Build()
	var id string
	err := a.call(ctx, "create card", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.cardkit.Card.Create(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			id = str(resp.Data.CardId)
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return id, err
}

// cardText replaces the text of one element.
func (a *api) cardText(ctx context.Context, cardID, element, text string, sequence int) error {
	req := larkcardkit.NewContentCardElementReqBuilder().CardId(cardID).ElementId(element).
		Body(&larkcardkit.ContentCardElementReqBody{Content: &text, Sequence: &sequence}).Build()
	return a.call(ctx, "update card text", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.cardkit.CardElement.Content(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
}

// cardStreaming switches streaming on or off.
func (a *api) cardStreaming(ctx context.Context, cardID string, on bool, sequence int) error {
	settings := `{"config":{"streaming_mode":false}}`
	if on {
		settings = `{"config":{"streaming_mode":true}}`
	}
	req := larkcardkit.NewSettingsCardReqBuilder().CardId(cardID).
		Body(&larkcardkit.SettingsCardReqBody{Settings: &settings, Sequence: &sequence}).Build()
	return a.call(ctx, "update card settings", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.cardkit.Card.Settings(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
}

// updateCard replaces the whole card.
func (a *api) updateCard(ctx context.Context, cardID, card string, sequence int) error {
	kind := cardJSON
	req := larkcardkit.NewUpdateCardReqBuilder().CardId(cardID).
		Body(&larkcardkit.UpdateCardReqBody{Card: &larkcardkit.Card{Type: &kind, Data: &card}, Sequence: &sequence}).Build()
	return a.call(ctx, "update card", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.cardkit.Card.Update(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
}

// deleteElement takes one element out of a card.
func (a *api) deleteElement(ctx context.Context, cardID, element string, sequence int) error {
	req := larkcardkit.NewDeleteCardElementReqBuilder().CardId(cardID).ElementId(element).
		Body(&larkcardkit.DeleteCardElementReqBody{Sequence: &sequence}).Build()
	return a.call(ctx, "delete card element", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.cardkit.CardElement.Delete(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
}
