package dial

import (
	"net/netip"

	"golang.org/x/net/dns/dnsmessage"
)

// answer replies to a DNS query: addr for A, nothing for anything else.
func answer(query []byte, addr netip.Addr) []byte {
	var p dnsmessage.Parser
	header, err := p.Start(query)
	if err != nil {
		return nil
	}
	question, err := p.Question()
	if err != nil {
		return nil
	}
	msg := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: header.ID, Response: true, RecursionAvailable: true},
		Questions: []dnsmessage.Question{question},
	}
	if question.Type == dnsmessage.TypeA {
		msg.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET},
			Body:   &dnsmessage.AResource{A: addr.As4()},
		}}
	}
	packed, err := msg.Pack()
	if err != nil {
		return nil
	}
	return packed
}
