package store

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// fill gives every field of a struct a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text <", *n, ">"))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fill(v.Index(0), n)
		fill(v.Index(1), n)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.UnixMicro(int64(*n)).UTC()))
			return
		}
		for _, field := range v.Fields() {
			fill(field, n)
		}
	default:
		panic("no value for " + v.Type().String())
	}
}

// Whatever a message has is in its record, fields that the API hides too.
func TestMessageRecordLosesNothing(t *testing.T) {
	n := 0
	want := &MessageRecord{}
	fill(reflect.ValueOf(want).Elem(), &n)
	want.ImagesOmitted = false // tells how it was read, not what it is
	want.Form.Seq = want.Seq
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got := &MessageRecord{}
	if err := json.Unmarshal(text, got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s gives\n%+v, want\n%+v", text, got, want)
	}
}

func TestMessageRecordIsSpeltOneWay(t *testing.T) {
	text, err := json.Marshal(&MessageRecord{Turn: 1, SessionMessage: models.SessionMessage{ID: "m", Seq: 1}})
	const want = `{"id":"m","seq":1,"slot":"","role":"","content":"","images":[],"toolCalls":[],"toolCallId":"","tokenCount":0,"isCompacted":false,` +
		`"senderId":"","senderName":"","platformMessageId":"","createdAt":"0001-01-01T00:00:00Z","turn":1}`
	if string(text) != want || err != nil {
		t.Errorf("%s, %v", text, err)
	}
	if err := json.Unmarshal([]byte(`{"id":"m","seq":1,"mood":"blue"}`), &MessageRecord{}); err == nil {
		t.Error("an unknown field was dropped")
	}
}
