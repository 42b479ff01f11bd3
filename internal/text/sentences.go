package text

// Notices of the gateway.
const (
	AgentFailed      ID = "agent_failed"     // code
	AgentTimeout     ID = "agent_timeout"    // code
	AgentBusy        ID = "agent_busy"       // code
	AgentMissing     ID = "agent_missing"    // agent id, code
	TooLarge         ID = "too_large"        // -
	SlotReadonly     ID = "slot_readonly"    // slot
	SlotMissing      ID = "slot_missing"     // slot
	MessageDead      ID = "message_dead"     // code
	QueueOverflow    ID = "queue_overflow"   // count
	Unsupported      ID = "unsupported"      // -
	AccessDenied     ID = "access_denied"    // -
	SomeWereTooOld   ID = "some_too_old"     // count
	MediaUnreadable  ID = "media_unreadable" // name
	AttachmentNamed  ID = "attachment_named" // kind, name
	EmptyAnswer      ID = "empty_answer"     // -
	AnswerNotSent    ID = "answer_not_sent"  // -
	RecalledByUser   ID = "recalled"         // -
	Welcome          ID = "welcome"          // -
	WelcomeDirect    ID = "welcome_direct"   // -
	ObservedTalk     ID = "observed_talk"    // -
	QuotedMessage    ID = "quoted_message"   // name
	ResetSuperseded  ID = "reset_superseded" // count
	SessionWasPurged ID = "session_was_purged"
)

// Notices about tasks, to their owners, and answers of /task.
const (
	TaskFails        ID = "task_fails"         // task, failures, code
	TaskPausedItself ID = "task_paused_itself" // task, failures, code
	TaskUsage        ID = "task_usage"
	TaskAdded        ID = "task_added"    // id, next time, zone
	TaskBadTime      ID = "task_bad_time" // what is wrong
	TaskPassed       ID = "task_passed"
	TaskNone         ID = "task_none"
	TaskLine         ID = "task_line" // id, schedule, next time, zone, prompt
	TaskNever        ID = "task_never"
	TaskIsPaused     ID = "task_is_paused"
	TaskMissing      ID = "task_missing" // id
	TaskForeign      ID = "task_foreign"
	TaskPaused       ID = "task_paused"   // id
	TaskDeleted      ID = "task_deleted"  // id
	TaskTooMany      ID = "task_too_many" // count
)

// Answers of /slot.
const (
	SlotUsage       ID = "slot_usage"
	SlotTitle       ID = "slot_title"
	SlotLine        ID = "slot_line"         // slot, mode, messages, tokens
	SlotLineCurrent ID = "slot_line_current" // slot, mode, messages, tokens
	SlotIsFull      ID = "slot_is_full"
	SlotIsFocused   ID = "slot_is_focused"
	SlotIsReadonly  ID = "slot_is_readonly"
	SlotSwitched    ID = "slot_switched"  // slot
	SlotDeleted     ID = "slot_deleted"   // slot
	SlotDerived     ID = "slot_derived"   // slot
	SlotIsStatic    ID = "slot_is_static" // slot
	SlotStays       ID = "slot_stays"     // slot
)

// Answers of /remember, /forget and /memory.
const (
	NoteUsage    ID = "note_usage"
	NoteKept     ID = "note_kept" // note
	NoteTooLong  ID = "note_too_long"
	NoteTooMany  ID = "note_too_many"
	NoteTitle    ID = "note_title" // count
	NoteNone     ID = "note_none"
	NoteMissing  ID = "note_missing"    // id
	NoteForgot   ID = "note_forgotten"  // note
	NotesForgot  ID = "notes_forgotten" // count
	NotesAndMore ID = "notes_and_more"  // count
)

// Answers of the chat commands.
const (
	HelpTitle       ID = "help_title"
	NeedsAdmin      ID = "needs_admin"
	CommandFailed   ID = "command_failed" // code
	Stopped         ID = "stopped"        // count
	NothingToStop   ID = "nothing_to_stop"
	NewSlot         ID = "new_slot"    // slot
	SlotExists      ID = "slot_exists" // slot
	BadSlotName     ID = "bad_slot_name"
	ResetDone       ID = "reset_done"    // slot
	StatusText      ID = "status_text"   // agent, slot, messages, tokens, running, waiting, state
	StatusNoSession ID = "status_none"   // agent
	WhoAmI          ID = "whoami"        // channel, account, user id, chat id, session key
	RetryQueued     ID = "retry_queued"  // -
	NothingToRetry  ID = "nothing_retry" // -
	UndoDone        ID = "undo_done"
	NothingToUndo   ID = "nothing_undo"
)

// One-line descriptions of the chat commands.
const (
	HelpHelp   ID = "help_help"
	HelpNew    ID = "help_new"
	HelpReset  ID = "help_reset"
	HelpStop   ID = "help_stop"
	HelpStatus ID = "help_status"
	HelpWhoAmI ID = "help_whoami"
	HelpRetry  ID = "help_retry"
	HelpTask   ID = "help_task"
	HelpUndo   ID = "help_undo"
	HelpSlot   ID = "help_slot"

	HelpRemember ID = "help_remember"
	HelpForget   ID = "help_forget"
	HelpMemory   ID = "help_memory"
)

var sentences = map[ID]sentence{
	AgentFailed:      {"Sorry, I could not answer this time. Please try again later, or send /retry. (%s)", "抱歉,这次没能回答。请稍后再试,或发送 /retry。(%s)"},
	AgentTimeout:     {"Sorry, this took too long and I stopped. Send /retry to try again. (%s)", "抱歉,处理超时,已停止。发送 /retry 可再试一次。(%s)"},
	AgentBusy:        {"Sorry, the model is overloaded right now. Please try again in a minute. (%s)", "抱歉,模型当前过载,请一分钟后再试。(%s)"},
	AgentMissing:     {"The agent %q of this chat is not configured any more. Please tell the operator. (%s)", "此会话的智能体 %q 已不在配置中,请联系管理员。(%s)"},
	TooLarge:         {"This message is too long for the model. Please send a shorter one.", "这条消息超出了模型能处理的长度,请缩短后再发。"},
	SlotReadonly:     {"The context %q is read-only. Switch to another one with /slot switch.", "上下文 %q 是只读的,请用 /slot switch 切换。"},
	SlotMissing:      {"There is no context %q in this session.", "此会话中没有上下文 %q。"},
	MessageDead:      {"Sorry, this message could not be handled and was set aside. (%s)", "抱歉,这条消息无法处理,已被搁置。(%s)"},
	QueueOverflow:    {"Too many messages are waiting; I skipped the %d oldest.", "等待处理的消息太多,已跳过最早的 %d 条。"},
	Unsupported:      {"I can read text, pictures and files, but not this kind of message.", "我能处理文字、图片和文件,但看不懂这类消息。"},
	AccessDenied:     {"You are not allowed to use this bot. Ask the operator for access.", "你没有使用此机器人的权限,请联系管理员。"},
	SomeWereTooOld:   {"(%d earlier messages reached me too late to be answered; I read them as background.)", "(有 %d 条更早的消息到达太晚,未单独回答,仅作为背景阅读。)"},
	MediaUnreadable:  {"[attachment %s could not be read]", "[附件 %s 无法读取]"},
	AttachmentNamed:  {"[%s: %s]", "[%s:%s]"},
	AnswerNotSent:    {"(The answer could not be delivered. Please ask again.)", "(回答未能送达,请重新提问。)"},
	EmptyAnswer:      {"(no answer)", "(没有回答)"},
	RecalledByUser:   {"The message was recalled.", "消息已撤回。"},
	Welcome:          {"Hello! Mention me with your question. /help shows what I can do.", "大家好!@我并提出问题即可。发送 /help 查看用法。"},
	WelcomeDirect:    {"Hello! Write to me as you would to a colleague. /help shows what I can do.", "你好!像和同事聊天一样给我发消息就行。发送 /help 查看用法。"},
	ObservedTalk:     {"Earlier talk in the group, as background:", "群里此前的对话,仅作背景:"},
	QuotedMessage:    {"Quoted message of %s:", "引用 %s 的消息:"},
	ResetSuperseded:  {"%d waiting messages were dropped.", "%d 条等待中的消息已丢弃。"},
	SessionWasPurged: {"The session was deleted.", "会话已删除。"},

	TaskFails:        {"Your scheduled task %s has failed %d times in a row. (%s)", "你的定时任务 %s 已连续失败 %d 次。(%s)"},
	TaskPausedItself: {"Your scheduled task %s failed %d times in a row and is paused now. (%s)", "你的定时任务 %s 已连续失败 %d 次,现已暂停。(%s)"},
	TaskUsage: {
		"Say when and what:\n- `/task add \"0 9 * * 1-5\" TEXT` and `/task add every 10m TEXT` repeat\n- `/task add 10m TEXT` and `/task add 18:00 TEXT` run once\n- `/task list`, `/task pause ID`, `/task delete ID`",
		"请说明时间和内容:\n- `/task add \"0 9 * * 1-5\" 内容`、`/task add 每10分钟 内容` 重复执行\n- `/task add 10m 内容`、`/task add 明天9点 内容` 只执行一次\n- `/task list`、`/task pause ID`、`/task delete ID`",
	},
	TaskAdded:    {"Task %s added. Next: %s (%s).", "已添加任务 %s。下次执行:%s(%s)。"},
	TaskBadTime:  {"That schedule %s.", "时间表无效:%s。"},
	TaskPassed:   {"That time has passed.", "这个时间已经过去。"},
	TaskNone:     {"There are no tasks.", "没有任务。"},
	TaskLine:     {"- `%s` %s, next: %s (%s): %s", "- `%s` %s,下次:%s(%s):%s"},
	TaskNever:    {"never", "无"},
	TaskIsPaused: {"paused", "已暂停"},
	TaskMissing:  {"There is no task %q.", "没有任务 %q。"},
	TaskForeign:  {"That task is somebody else's; only an administrator may do this.", "这是别人的任务,只有管理员可以操作。"},
	TaskPaused:   {"Task %s is paused.", "任务 %s 已暂停。"},
	TaskDeleted:  {"Task %s is deleted.", "任务 %s 已删除。"},
	TaskTooMany:  {"You have %d tasks; delete some first.", "你已有 %d 个任务,请先删除一些。"},

	SlotUsage: {
		"Say what to do:\n- `/slot list`\n- `/slot new NAME` opens a new context and switches to it\n- `/slot derive NAME [from PARENT]` copies one\n- `/slot switch NAME`\n- `/slot delete NAME`",
		"请说明要做什么:\n- `/slot list`(列表)\n- `/slot new 名称`(新建)新建上下文并切换过去\n- `/slot derive 名称 [from 来源]`(派生)复制一个上下文\n- `/slot switch 名称`(切换)\n- `/slot delete 名称`(删除)",
	},
	SlotTitle:       {"The contexts of this session:", "此会话的上下文:"},
	SlotLine:        {"- `%s` %s, %d messages, %d tokens", "- `%s` %s,%d 条消息,%d tokens"},
	SlotLineCurrent: {"- **`%s`** (current) %s, %d messages, %d tokens", "- **`%s`**(当前)%s,%d 条消息,%d tokens"},
	SlotIsFull:      {"full", "完整"},
	SlotIsFocused:   {"focused", "聚焦"},
	SlotIsReadonly:  {"read-only", "只读"},
	SlotSwitched:    {"The context is %s now.", "已切换到上下文 %s。"},
	SlotDeleted:     {"The context %s is deleted.", "上下文 %s 已删除。"},
	SlotDerived:     {"Copied to a new context: %s. Go there with /slot switch.", "已复制为新的上下文:%s。用 /slot switch 切换过去。"},
	SlotIsStatic:    {"The context %q comes from the configuration and stays as it is. Copy it with /slot derive.", "上下文 %q 来自配置,不能更改。可用 /slot derive 复制。"},
	SlotStays:       {"The context %q cannot be deleted.", "上下文 %q 不能删除。"},

	NoteUsage:    {"Say what: `/remember TEXT` or `/remember KEY=TEXT`.", "请说明要记住什么:`/remember 内容` 或 `/remember 名称=内容`。"},
	NoteKept:     {"I will remember: %s", "已记住:%s"},
	NoteTooLong:  {"That is too long for a note.", "内容太长,无法作为笔记保存。"},
	NoteTooMany:  {"There are too many notes; forget some first.", "笔记太多,请先忘记一些。"},
	NoteTitle:    {"Notes of this session (%d):", "此会话的笔记(%d 条):"},
	NoteNone:     {"There are no notes. /remember TEXT adds one.", "没有笔记。/remember 内容 可添加一条。"},
	NoteMissing:  {"There is no note %q.", "没有笔记 %q。"},
	NoteForgot:   {"Forgotten: %s", "已忘记:%s"},
	NotesForgot:  {"All notes are forgotten (%d).", "已忘记全部笔记(%d 条)。"},
	NotesAndMore: {"… and %d more", "……还有 %d 条"},

	HelpTitle:       {"What I understand:", "可用命令:"},
	NeedsAdmin:      {"In a chat that several people share, only an administrator may do this.", "多人共用的会话中,只有管理员可以执行此操作。"},
	CommandFailed:   {"Sorry, that did not work. Please try again. (%s)", "抱歉,操作失败,请重试。(%s)"},
	Stopped:         {"Stopped (%d).", "已停止(%d)。"},
	NothingToStop:   {"Nothing of yours is running.", "没有正在进行的任务。"},
	NewSlot:         {"Started a new context: %s. The old one stays.", "已开始新的上下文:%s。原来的仍保留。"},
	SlotExists:      {"There is a context %q already.", "上下文 %q 已存在。"},
	BadSlotName:     {"A name has 1 to 64 letters, digits, dots, dashes or underscores.", "名称须为 1 到 64 个字母、数字、点、横线或下划线。"},
	ResetDone:       {"The context %s is empty now. Notes are kept; the old context can be restored by the operator for a while.", "上下文 %s 已清空。笔记保留;管理员可在一段时间内恢复旧内容。"},
	StatusText:      {"Agent: %s\nContext: %s\nMessages: %d (%d tokens)\nRunning: %d, waiting: %d\nState: %s", "智能体:%s\n上下文:%s\n消息:%d 条(%d tokens)\n进行中:%d,等待:%d\n状态:%s"},
	StatusNoSession: {"Agent: %s\nNothing has been said in this session yet.", "智能体:%s\n此会话还没有内容。"},
	WhoAmI:          {"Channel: %s\nAccount: %s\nYou: %s\nChat: %s\nSession: %s", "渠道:%s\n账号:%s\n你的 ID:%s\n会话 ID:%s\n会话键:%s"},
	RetryQueued:     {"Trying again.", "正在重试。"},
	NothingToRetry:  {"There is nothing to retry.", "没有可重试的消息。"},
	UndoDone:        {"The last turn is set aside.", "已撤销上一轮对话。"},
	NothingToUndo:   {"There is nothing to undo.", "没有可撤销的内容。"},

	HelpHelp:     {"shows this list", "显示此列表"},
	HelpNew:      {"starts a new context; the old one stays", "开始新的上下文,旧的保留"},
	HelpReset:    {"empties the current context", "清空当前上下文"},
	HelpStop:     {"stops what I am doing for you", "停止正在为你处理的任务"},
	HelpStatus:   {"shows the state of this session", "显示会话状态"},
	HelpWhoAmI:   {"shows your ids", "显示你的 ID"},
	HelpRetry:    {"runs your last failed message again", "重新运行你上一条失败的消息"},
	HelpTask:     {"schedules work for me", "管理定时任务"},
	HelpRemember: {"keeps a note for this session", "为此会话记一条笔记"},
	HelpForget:   {"forgets a note, or all of them", "忘记一条或全部笔记"},
	HelpMemory:   {"shows the notes of this session", "显示此会话的笔记"},

	HelpSlot: {"lists and changes the contexts of this session", "管理此会话的上下文"},
	HelpUndo: {"sets the last turn aside", "撤销上一轮对话"},
}
