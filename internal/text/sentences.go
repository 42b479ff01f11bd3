package text

// Notices of the gateway.
const (
	AgentFailed      ID = "agent_failed"      // code
	AgentTimeout     ID = "agent_timeout"     // code
	AgentBusy        ID = "agent_busy"        // code
	AgentMissing     ID = "agent_missing"     // agent id, code
	TooLarge         ID = "too_large"         // -
	SlotReadonly     ID = "slot_readonly"     // slot
	SlotMissing      ID = "slot_missing"      // slot
	MessageDead      ID = "message_dead"      // code
	QueueOverflow    ID = "queue_overflow"    // count
	Unsupported      ID = "unsupported"       // -
	AccessDenied     ID = "access_denied"     // user id, chat id
	AccessCode       ID = "access_code"       // code
	AccessCodeGroup  ID = "access_code_group" // code
	AccessGranted    ID = "access_granted"    // -
	RateLimited      ID = "rate_limited"      // count
	BudgetUsedUp     ID = "budget_used_up"    // tokens, whose
	BudgetNearlyUsed ID = "budget_nearly"     // percent, whose
	BudgetOfUser     ID = "budget_of_user"
	BudgetOfSession  ID = "budget_of_session"
	BudgetOfChat     ID = "budget_of_chat"
	BudgetOfAgent    ID = "budget_of_agent"
	BudgetOfTask     ID = "budget_of_task"
	WordRefused      ID = "word_refused"      // -
	AnswerRefused    ID = "answer_refused"    // -
	AccessWasDenied  ID = "access_was_denied" // -
	SomeWereTooOld   ID = "some_too_old"      // count
	MediaUnreadable  ID = "media_unreadable"  // name
	AttachmentNamed  ID = "attachment_named"  // kind, name
	EmptyAnswer      ID = "empty_answer"      // -
	AnswerNotSent    ID = "answer_not_sent"   // -
	Welcome          ID = "welcome"           // -
	WelcomeDirect    ID = "welcome_direct"    // -
	ResetSuperseded  ID = "reset_superseded"  // count
	SessionRestored  ID = "session_restored"  // -
)

// Notices about tasks, to their owners, and answers of /task.
const (
	TaskFailed       ID = "task_failed"        // task, code
	TaskFails        ID = "task_fails"         // task, failures, code
	TaskPausedItself ID = "task_paused_itself" // task, failures, code
	TaskUsage        ID = "task_usage"
	TaskAdded        ID = "task_added" // id, next time, zone
	TaskOnce         ID = "task_once"
	TaskBadTime      ID = "task_bad_time" // what is wrong
	ScheduleSpec     ID = "schedule_spec"
	ScheduleLong     ID = "schedule_long"
	ScheduleZone     ID = "schedule_zone"
	ScheduleNever    ID = "schedule_never"
	ScheduleShort    ID = "schedule_short"
	TaskPassed       ID = "task_passed"
	TaskNone         ID = "task_none"
	TaskLine         ID = "task_line" // id, schedule, next time, zone, prompt
	TaskNever        ID = "task_never"
	TaskIsPaused     ID = "task_is_paused"
	TaskMissing      ID = "task_missing" // id
	TaskForeign      ID = "task_foreign"
	TaskPaused       ID = "task_paused"        // id
	TaskDeleted      ID = "task_deleted"       // id
	TaskResumed      ID = "task_resumed"       // id, next time, zone
	TaskTooMany      ID = "task_too_many"      // count
	TaskTooManyHere  ID = "task_too_many_here" // count
)

// Questions for approval, and answers of /approve.
const (
	ApprovalAsk         ID = "approval_ask" // tool, who asked, arguments, code (twice), until
	ApproveButton       ID = "approve_button"
	DenyButton          ID = "deny_button"
	ApprovedWords       ID = "approved_words" // tool
	DeniedWords         ID = "denied_words"   // tool
	ApprovalUsage       ID = "approval_usage"
	ApprovalMissing     ID = "approval_missing"      // code
	ApprovalWasApproved ID = "approval_was_approved" // who
	ApprovalWasDenied   ID = "approval_was_denied"   // who
	ApprovalExpired     ID = "approval_expired"
	ToolRunning         ID = "tool_running" // tools
)

// Answers of /model and /role.
const (
	ModelShown   ID = "model_shown"   // model, list
	ModelChosen  ID = "model_chosen"  // model
	ModelReset   ID = "model_reset"   // model
	ModelUnknown ID = "model_unknown" // model, list
	ModelNone    ID = "model_none"
	RoleTitle    ID = "role_title"
	RoleUsage    ID = "role_usage"
	RoleNone     ID = "role_none"
	RoleMissing  ID = "role_missing" // role
	RoleUsed     ID = "role_used"    // title
	RoleReset    ID = "role_reset"
	RoleExamples ID = "role_examples"
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

// Answers of /compact, and notices about summaries.
const (
	CompactStarted  ID = "compact_started" // count
	CompactDone     ID = "compact_done"    // count, tokens before, tokens after
	CompactNothing  ID = "compact_nothing"
	CompactBusy     ID = "compact_busy"
	CompactExcluded ID = "compact_excluded" // slot
	CompactFailed   ID = "compact_failed"   // code
	CompactChanged  ID = "compact_changed"
	CompactStopped  ID = "compact_stopped"
	ContextFull     ID = "context_full"
)

// Answers of /history.
const (
	HistoryNewest  ID = "history_newest"
	HistoryFound   ID = "history_found"
	HistoryEmpty   ID = "history_empty"
	HistoryNothing ID = "history_nothing"
	HistoryMore    ID = "history_more"
	HistoryPartly  ID = "history_partly"
	HistoryTooMany ID = "history_too_many" // words, characters
	SpeakerBot     ID = "speaker_bot"
	SpeakerUser    ID = "speaker_user"
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
	ResetDone       ID = "reset_done"  // slot
	StatusText      ID = "status_text" // agent, model, slot, messages, tokens, running, waiting, state
	StatusNoSession ID = "status_none" // agent
	StateActive     ID = "state_active"
	StateIdle       ID = "state_idle"
	StateCompacted  ID = "state_compacted"
	StateArchived   ID = "state_archived"
	WhoAmI          ID = "whoami" // channel, account, user id, role, chat id, session key
	RoleOfUser      ID = "role_of_user"
	RoleOfAdmin     ID = "role_of_admin"
	AdminOnly       ID = "admin_only"
	PairUsage       ID = "pair_usage"
	PairNone        ID = "pair_none"
	PairTitle       ID = "pair_title"
	PairUser        ID = "pair_user"     // code, name, id
	PairChat        ID = "pair_chat"     // code, name, id
	PairApproved    ID = "pair_approved" // name
	PairDenied      ID = "pair_denied"   // name
	PairMissing     ID = "pair_missing"  // code
	PairTooMany     ID = "pair_too_many"
	LimitUsage      ID = "limit_usage"
	LimitNone       ID = "limit_none"
	LimitTitle      ID = "limit_title"
	LimitLine       ID = "limit_line"   // whose, tokens, limit
	LimitLifted     ID = "limit_lifted" // whose, tokens
	RetryLater      ID = "retry_later"
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
	HelpPair   ID = "help_pair"
	HelpLimit  ID = "help_limit"
	HelpRetry  ID = "help_retry"
	HelpTask   ID = "help_task"
	HelpUndo   ID = "help_undo"
	HelpSlot   ID = "help_slot"

	HelpHistory ID = "help_history"
	HelpCompact ID = "help_compact"

	HelpApprove ID = "help_approve"
	HelpDeny    ID = "help_deny"
	HelpModel   ID = "help_model"
	HelpRole    ID = "help_role"

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
	AccessDenied:     {"You may not use this bot here. Its operator can allow it and needs these ids: you %s, chat %s.", "你没有在此使用机器人的权限,请联系管理员开通,并提供以下 ID:用户 %s,会话 %s。"},
	AccessCode:       {"I do not know you yet. An administrator can let you in with: `/approve %s` (within a day).", "我还不认识你。请管理员在一天内发送 `/approve %s` 批准你使用。"},
	AccessCodeGroup:  {"I do not work in this group yet. An administrator can let it in with: `/approve %s` (within a day).", "此群尚未开通。请管理员在一天内发送 `/approve %s` 批准。"},
	RateLimited:      {"You write faster than I may answer: at most %d messages a minute. Please wait a minute, then send /retry for the last one.", "消息发送过快:每分钟最多 %d 条。请稍等一分钟,再发送 /retry 重试最后一条。"},
	BudgetUsedUp:     {"Today's budget of %d tokens is used up (%s). It is there again tomorrow; send /retry then.", "今天的 %d token 额度已用完(%s)。明天恢复,届时可发送 /retry 重试。"},
	BudgetNearlyUsed: {"(%d %% of today's token budget is used: %s.)", "(今天的 token 额度已使用 %d %%:%s。)"},
	BudgetOfUser:     {"yours", "个人额度"},
	BudgetOfSession:  {"this session's", "此会话的额度"},
	BudgetOfChat:     {"this chat's", "此聊天的额度"},
	BudgetOfAgent:    {"this agent's", "此智能体的额度"},
	BudgetOfTask:     {"this task's", "此任务的额度"},
	WordRefused:      {"Your message holds a word that is not allowed here. I have not read it.", "消息中含有此处不允许的词语,我没有读取它。"},
	AnswerRefused:    {"My answer held a word that is not allowed here, so I do not show it.", "我的回答中含有此处不允许的词语,因此不予显示。"},
	AccessGranted:    {"You may use this bot now. /help shows what I can do.", "已获准使用此机器人。发送 /help 查看用法。"},
	AccessWasDenied:  {"The request to use this bot was denied.", "使用此机器人的申请未获批准。"},
	SomeWereTooOld:   {"(%d earlier messages reached me too late to be answered; I read them as background.)", "(有 %d 条更早的消息到达太晚,未单独回答,仅作为背景阅读。)"},
	MediaUnreadable:  {"[attachment %s could not be read]", "[附件 %s 无法读取]"},
	AttachmentNamed:  {"[%s: %s]", "[%s:%s]"},
	AnswerNotSent:    {"(The answer could not be delivered. Please ask again.)", "(回答未能送达,请重新提问。)"},
	EmptyAnswer:      {"(no answer)", "(没有回答)"},
	Welcome:          {"Hello! Mention me with your question. /help shows what I can do.", "大家好!@我并提出问题即可。发送 /help 查看用法。"},
	WelcomeDirect:    {"Hello! Write to me as you would to a colleague. /help shows what I can do.", "你好!像和同事聊天一样给我发消息就行。发送 /help 查看用法。"},
	ResetSuperseded:  {"%d waiting messages were dropped.", "%d 条等待中的消息已丢弃。"},
	SessionRestored:  {"(This conversation had been archived. It is active again, with everything it holds.)", "(此会话此前已归档,现已恢复,内容都还在。)"},

	TaskFailed:       {"Your scheduled task %s has failed. (%s)", "你的定时任务 %s 执行失败。(%s)"},
	TaskFails:        {"Your scheduled task %s has failed %d times in a row. (%s)", "你的定时任务 %s 已连续失败 %d 次。(%s)"},
	TaskPausedItself: {"Your scheduled task %s failed %d times in a row and is paused now. (%s)", "你的定时任务 %s 已连续失败 %d 次,现已暂停。(%s)"},
	TaskUsage: {
		"Say when and what:\n- `/task add \"0 9 * * 1-5\" TEXT`, `/task add every 10m TEXT`, `/task add every weekday at 9:00 TEXT` and `/task add every mon 9am TEXT` repeat\n- `/task add 10m TEXT`, `/task add 18:00 TEXT`, `/task add tomorrow 9:15 TEXT` and `/task add friday 6pm TEXT` run once\n- `/task list`, `/task pause ID`, `/task resume ID`, `/task delete ID`",
		"请说明时间和内容:\n- `/task add \"0 9 * * 1-5\" 内容`、`/task add 每10分钟 内容`、`/task add 工作日9点 内容`、`/task add 每周一三五18:30 内容` 重复执行\n- `/task add 10分钟后 内容`、`/task add 18:00 内容`、`/task add 明天9点 内容`、`/task add 周五下午6点 内容` 只执行一次\n- `/task list`、`/task pause ID`、`/task resume ID`、`/task delete ID`",
	},
	TaskAdded:     {"Task %s added. Next: %s (%s).", "已添加任务 %s。下次执行:%s(%s)。"},
	TaskOnce:      {"once", "一次"},
	TaskBadTime:   {"That schedule %s.", "时间表无效:%s。"},
	ScheduleSpec:  {"needs 5 cron fields such as \"0 9 * * 1-5\", or @every 10m", "需要 5 个 cron 字段(如 \"0 9 * * 1-5\")或 @every 10m"},
	ScheduleLong:  {"is longer than 256 characters: split it into several", "超过 256 个字符,请拆分成几个"},
	ScheduleZone:  {"must not set a zone in itself", "不能自带时区"},
	ScheduleNever: {"never comes: check its day and month", "永远不会到来,请检查日期和月份"},
	ScheduleShort: {"must be @every 1s or more", "@every 的间隔不能小于 1 秒"},
	TaskPassed:    {"That time has passed.", "这个时间已经过去。"},
	TaskNone:      {"There are no tasks.", "没有任务。"},
	TaskLine:      {"- `%s` %s, next: %s (%s): %s", "- `%s` %s,下次:%s(%s):%s"},
	TaskNever:     {"never", "无"},
	TaskIsPaused:  {"paused", "已暂停"},
	TaskMissing:   {"There is no task %q.", "没有任务 %q。"},
	TaskForeign:   {"That task is somebody else's; only an administrator may do this.", "这是别人的任务,只有管理员可以操作。"},
	TaskPaused:    {"Task %s is paused.", "任务 %s 已暂停。"},
	TaskDeleted:   {"Task %s is deleted.", "任务 %s 已删除。"},
	TaskResumed:   {"Task %s goes on. Next: %s (%s).", "任务 %s 已恢复。下次执行:%s(%s)。"},
	TaskTooMany:   {"You have %d tasks; delete some first.", "你已有 %d 个任务,请先删除一些。"},

	TaskTooManyHere: {"This chat has %d tasks; delete some first.", "这个会话已有 %d 个任务,请先删除一些。"},

	ApprovalAsk: {
		"**Approval needed**: `%s`, asked by %s\n```json\n%s\n```\n`/approve %s` runs it, `/deny %s` refuses it. Until %s.",
		"**需要批准**:`%s`,由 %s 请求\n```json\n%s\n```\n发送 `/approve %s` 执行,`/deny %s` 拒绝。有效期至 %s。",
	},
	ApproveButton:       {"Approve", "批准"},
	DenyButton:          {"Deny", "拒绝"},
	ApprovedWords:       {"I approve the call of %s.", "我批准调用 %s。"},
	DeniedWords:         {"I deny the call of %s.", "我拒绝调用 %s。"},
	ApprovalUsage:       {"Say which call: `/approve CODE`, `/approve CODE no` or `/deny CODE`.", "请说明是哪个调用:`/approve 代码`、`/approve 代码 no` 或 `/deny 代码`。"},
	ApprovalMissing:     {"No call waits under the code %s that you may decide on. Whoever asked may, and administrators.", "没有代码为 %s 且你可以决定的调用。只有请求者本人和管理员可以决定。"},
	ApprovalWasApproved: {"That was approved already, by %s; it runs once.", "该调用已由 %s 批准,只会执行一次。"},
	ApprovalWasDenied:   {"That was denied already, by %s.", "该调用已被 %s 拒绝。"},
	ApprovalExpired:     {"That call has expired; ask again.", "该调用已过期,请重新提出。"},
	ToolRunning:         {"🔧 %s …", "🔧 %s……"},

	ModelShown:   {"Model: %s\nYou may choose:\n%s", "模型:%s\n可选:\n%s"},
	ModelChosen:  {"The model of this session is %s from now on. /model default takes it back.", "此会话从现在起使用模型 %s。/model default 可恢复默认。"},
	ModelReset:   {"The model of this session is the agent's own again: %s.", "此会话已恢复使用默认模型:%s。"},
	ModelUnknown: {"There is no model %q to choose. You may choose:\n%s", "没有可选的模型 %q。可选:\n%s"},
	ModelNone:    {"(none; the operator names them)", "(无;由管理员配置)"},
	RoleTitle:    {"Roles for this session:", "可用角色:"},
	RoleUsage:    {"`/role use ROLE` takes one, `/role show ROLE` shows it, `/role default` goes back.", "`/role use 角色` 使用,`/role show 角色` 查看,`/role default` 恢复默认。"},
	RoleNone:     {"There are no such roles.", "没有这样的角色。"},
	RoleMissing:  {"There is no role %q. /role list shows all.", "没有角色 %q。发送 /role list 查看全部。"},
	RoleUsed:     {"From now on I am: %s. /role default goes back.", "从现在起我的角色是:%s。/role default 可恢复。"},
	RoleReset:    {"I am myself again.", "已恢复默认角色。"},
	RoleExamples: {"Try for example:", "可以这样问:"},

	SlotUsage: {
		"Say what to do:\n- `/slot list`\n- `/slot new NAME` opens a new context and switches to it\n- `/slot derive NAME [from PARENT]` copies one\n- `/slot switch NAME`\n- `/slot delete NAME`",
		"请说明要做什么:\n- `/slot list`(列表)\n- `/slot new 名称`(新建)新建上下文并切换过去\n- `/slot derive 名称 [from 来源]`(派生)复制一个上下文\n- `/slot switch 名称`(切换)\n- `/slot delete 名称`(删除)",
	},
	SlotTitle:       {"The contexts of this session:", "此会话的上下文:"},
	SlotLine:        {"- %s: %s, %d messages, %d tokens", "- %s:%s,%d 条消息,%d tokens"},
	SlotLineCurrent: {"- **%s** (current): %s, %d messages, %d tokens", "- **%s**(当前):%s,%d 条消息,%d tokens"},
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

	CompactStarted:  {"I am summarising the %d oldest messages of this conversation.", "正在压缩这段对话中较早的 %d 条消息。"},
	CompactDone:     {"Summarised %d messages: the context went from %d to %d tokens.", "已将 %d 条消息压缩为摘要:上下文从 %d 降至 %d tokens。"},
	CompactNothing:  {"There is nothing to summarise yet.", "暂时没有可压缩的内容。"},
	CompactBusy:     {"This conversation is being summarised already.", "这段对话正在压缩中。"},
	CompactExcluded: {"The context %q is not summarised.", "上下文 %q 不参与压缩。"},
	CompactFailed:   {"(This conversation could not be summarised; it stays as it is. %s)", "(对话未能压缩为摘要,内容保持不变。%s)"},
	CompactChanged:  {"The conversation was changed meanwhile, so it was not summarised. Please try again.", "对话在此期间有变动,未作压缩,请重试。"},
	CompactStopped:  {"Stopped. The conversation stays as it is.", "已停止,对话保持不变。"},
	ContextFull: {
		"This conversation no longer fits the model, even shortened. Start afresh with /new or /reset, or send a shorter message.",
		"对话已超出模型能处理的长度,缩短后仍放不下。请用 /new 或 /reset 重新开始,或缩短消息后再发。",
	},

	HistoryNewest:  {"The newest messages here:", "最近的消息:"},
	HistoryFound:   {"Found, newest first:", "找到以下消息,最新的在前:"},
	HistoryEmpty:   {"Nothing has been said here yet.", "这里还没有消息。"},
	HistoryNothing: {"No message here has all of these words.", "没有同时包含这些词的消息。"},
	HistoryMore:    {"… and more; add a word to narrow it down.", "……还有更多,可加词缩小范围。"},
	HistoryPartly:  {"(Only the newest messages were searched.)", "(仅搜索了较新的消息。)"},
	HistoryTooMany: {"That is too much to look for: at most %d words and %d characters.", "要找的内容太多:最多 %d 个词、%d 个字符。"},
	SpeakerBot:     {"assistant", "助手"},
	SpeakerUser:    {"user", "用户"},

	HelpTitle:       {"What I understand:", "可用命令:"},
	NeedsAdmin:      {"In a chat that several people share, only an administrator may do this.", "多人共用的会话中,只有管理员可以执行此操作。"},
	CommandFailed:   {"Sorry, that did not work. Please try again. (%s)", "抱歉,操作失败,请重试。(%s)"},
	Stopped:         {"Stopped (%d).", "已停止(%d)。"},
	NothingToStop:   {"Nothing of yours is running.", "没有正在进行的任务。"},
	NewSlot:         {"Started a new context: %s. The old one stays.", "已开始新的上下文:%s。原来的仍保留。"},
	SlotExists:      {"There is a context %q already.", "上下文 %q 已存在。"},
	ResetDone:       {"The context %s is empty now. Notes are kept; the old context can be restored by the operator for a while.", "上下文 %s 已清空。笔记保留;管理员可在一段时间内恢复旧内容。"},
	StatusText:      {"Agent: %s\nModel: %s\nContext: %s\nMessages in it: %d (%d tokens)\nRunning: %d, waiting: %d\nState: %s", "智能体:%s\n模型:%s\n上下文:%s\n其中消息:%d 条(%d tokens)\n进行中:%d,等待:%d\n状态:%s"},
	StatusNoSession: {"Agent: %s\nNothing has been said in this session yet.", "智能体:%s\n此会话还没有内容。"},
	StateActive:     {"active", "活跃"},
	StateIdle:       {"idle", "空闲"},
	StateCompacted:  {"compacted", "已压缩"},
	StateArchived:   {"archived", "已归档"},
	WhoAmI:          {"Channel: %s\nAccount: %s\nYou: %s\nRole: %s\nChat: %s\nSession: %s", "渠道:%s\n账号:%s\n你的 ID:%s\n身份:%s\n会话 ID:%s\n会话键:%s"},
	RoleOfUser:      {"user", "普通用户"},
	RoleOfAdmin:     {"administrator", "管理员"},
	AdminOnly:       {"Only an administrator may do this.", "只有管理员可以执行此操作。"},
	PairUsage:       {"`/pair` lists who asks for access, `/pair CODE` lets in, `/pair CODE no` does not.", "`/pair` 列出申请,`/pair CODE` 批准,`/pair CODE no` 拒绝。"},
	PairNone:        {"Nobody asks for access.", "没有待处理的申请。"},
	PairTitle:       {"Who asks for access:", "待处理的申请:"},
	PairUser:        {"- `%s` %s (%s)", "- `%s` %s(%s)"},
	PairChat:        {"- `%s` the group %s (%s)", "- `%s` 群 %s(%s)"},
	PairApproved:    {"%s may use me now.", "已批准 %s 使用。"},
	PairDenied:      {"%s may not use me.", "已拒绝 %s 的申请。"},
	PairMissing:     {"There is no request %s, or it has expired.", "没有申请 %s,或已过期。"},
	PairTooMany:     {"Too many wrong codes. Try again later.", "错误的代码太多,请稍后再试。"},
	LimitUsage:      {"`/limit` shows today's budgets; for administrators `/limit lift [USER]` and `/limit add TOKENS [USER]` allow more today, to this chat or to a person.", "`/limit` 显示今天的额度;管理员可用 `/limit lift [用户]`、`/limit add 数量 [用户]` 为此聊天或某人临时放开或增加今天的额度。"},
	LimitNone:       {"There is no limit.", "没有额度限制。"},
	LimitTitle:      {"Tokens used today:", "今天使用的 token:"},
	LimitLine:       {"- %s: %d of %d", "- %s:已用 %d,上限 %d"},
	LimitLifted:     {"- %s: %d, no limit today", "- %s:%d,今天不限"},
	RetryLater:      {"You write faster than I may answer. Please try again in a minute.", "消息发送过快,请一分钟后再试。"},
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
	HelpPair:     {"lists who asks for access, and lets them in (administrators)", "查看并批准使用申请(管理员)"},
	HelpLimit:    {"shows today's token budgets", "显示今天的 token 额度"},
	HelpRetry:    {"runs your last failed message again", "重新运行你上一条失败的消息"},
	HelpTask:     {"schedules work for me", "管理定时任务"},
	HelpRemember: {"keeps a note for this session", "为此会话记一条笔记"},
	HelpForget:   {"forgets a note, or all of them", "忘记一条或全部笔记"},
	HelpMemory:   {"shows the notes of this session", "显示此会话的笔记"},

	HelpApprove: {"runs a tool's call that waits for approval", "批准一个等待批准的工具调用"},
	HelpDeny:    {"refuses a tool's call that waits for approval", "拒绝一个等待批准的工具调用"},
	HelpModel:   {"shows or chooses the model of this session", "查看或选择此会话的模型"},
	HelpRole:    {"lists prompts for this session, or uses one", "列出或使用提示词角色"},

	HelpSlot:    {"lists and changes the contexts of this session", "管理此会话的上下文"},
	HelpCompact: {"summarises the older part of the conversation, as you say", "把较早的对话压缩为摘要,可附要求"},
	HelpHistory: {"shows what was said here, or finds words in it", "查看此会话的消息,或按词查找"},

	HelpUndo: {"sets the last turn aside", "撤销上一轮对话"},
}
