package simulator

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

const terminalHelp = `Write a line to say it (the bot is mentioned). Commands of the simulator:
  :chats          lists the chats        :in CHAT      goes to a chat
  :people         lists the people       :as PERSON    speaks as somebody
  :quiet TEXT     does not mention the bot
  :press LABEL    presses a button of the newest message that has it
  :recall         takes your newest message back
  :fault NAME on|off                     :quit`

// Terminal lets a person play at a prompt until in ends, ":quit", or ctx ends.
func Terminal(ctx context.Context, p Platform, in io.Reader, out io.Writer) error {
	info := p.Info()
	t := &terminal{platform: p, info: info, chat: info.Chats[0], out: out, seen: map[string]string{}}
	t.person = t.speaker()
	t.print(terminalHelp)
	t.where()

	ctx, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(ctx) })
	defer watching.Wait()
	defer stop()

	lines := make(chan string)
	go readLines(ctx, in, lines) // ends with the input, or with ctx at its next line
	for {
		select {
		case <-ctx.Done():
			return nil
		case line, more := <-lines:
			if !more || line == ":quit" {
				return nil
			}
			if err := t.do(strings.TrimSpace(line)); err != nil {
				t.print("! " + err.Error())
			}
		}
	}
}

func readLines(ctx context.Context, in io.Reader, lines chan<- string) {
	defer close(lines)
	scanner := bufio.NewScanner(in)
	for scanner.Scan() {
		select {
		case lines <- scanner.Text():
		case <-ctx.Done():
			return
		}
	}
}

type terminal struct {
	platform Platform
	info     Info

	mu     sync.Mutex
	out    io.Writer
	chat   Chat
	person Person
	seen   map[string]string // what was printed of each message
}

func (t *terminal) print(s string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintln(t.out, s)
}

func (t *terminal) where() { t.print("You are " + t.person.Name + " in " + t.chat.Name + ".") }

// speaker is who can speak in the chat.
func (t *terminal) speaker() Person {
	for _, p := range t.info.People {
		if t.chat.Direct == "" || p.ID == t.chat.Direct {
			return p
		}
	}
	return Person{}
}

func (t *terminal) do(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "":
		return nil
	case ":chats":
		for _, c := range t.info.Chats {
			t.print("  " + c.ID + "  " + c.Name)
		}
	case ":people":
		for _, p := range t.info.People {
			t.print("  " + p.ID + "  " + p.Name)
		}
	case ":in":
		return t.enter(rest)
	case ":as":
		return t.speakAs(rest)
	case ":quiet":
		return t.say(rest, false)
	case ":press":
		return t.press(rest)
	case ":recall":
		return t.recall()
	case ":fault":
		name, on, _ := strings.Cut(rest, " ")
		return t.platform.SetFault(name, on != "off")
	default:
		return t.say(line, true)
	}
	return nil
}

func (t *terminal) say(text string, mention bool) error {
	return t.platform.Say(Said{ChatID: t.chat.ID, PersonID: t.person.ID, Text: text, Mention: mention || t.chat.Direct != ""})
}

func (t *terminal) enter(name string) error {
	for _, c := range t.info.Chats {
		if c.ID == name || c.Name == name {
			t.mu.Lock()
			t.chat = c
			t.mu.Unlock()
			t.person = t.speaker()
			t.where()
			t.show()
			return nil
		}
	}
	return fmt.Errorf("there is no chat %q", name)
}

func (t *terminal) speakAs(name string) error {
	for _, p := range t.info.People {
		if p.ID != name && p.Name != name {
			continue
		}
		if t.chat.Direct != "" && t.chat.Direct != p.ID {
			return fmt.Errorf("%s is not in this chat", p.Name)
		}
		t.person = p
		t.where()
		return nil
	}
	return fmt.Errorf("there is nobody called %q", name)
}

func (t *terminal) press(label string) error {
	messages := t.platform.Messages(t.chat.ID)
	for _, m := range slices.Backward(messages) {
		for _, b := range m.Buttons {
			if strings.Contains(b, label) {
				toast, err := t.platform.Press(m.ID, t.person.ID, b)
				if err == nil && toast != "" {
					t.print("  " + toast)
				}
				return err
			}
		}
	}
	return fmt.Errorf("no message has a button %q", label)
}

func (t *terminal) recall() error {
	messages := t.platform.Messages(t.chat.ID)
	for _, m := range slices.Backward(messages) {
		if !m.FromBot && m.Sender == t.person.Name && !m.Recalled {
			return t.platform.Recall(m.ID)
		}
	}
	return fmt.Errorf("%s has written nothing here", t.person.Name)
}

// watch prints what the bot writes in the chat.
func (t *terminal) watch(ctx context.Context) {
	for {
		changed := t.platform.Changed()
		t.show()
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// show prints the bot's messages that are new or have stopped growing.
func (t *terminal) show() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.platform.Messages(t.chat.ID) {
		if !m.FromBot || m.Growing || t.seen[m.ID] == m.Text {
			continue
		}
		t.seen[m.ID] = m.Text
		_, _ = fmt.Fprintf(t.out, "%s (%s): %s\n", m.Sender, m.Kind, m.Text)
	}
}
