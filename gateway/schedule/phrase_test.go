package schedule_test

import (
	"errors"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/gateway/schedule"
)

// said shows what was understood of a text written on Monday, 30 November 2026, 16:30
// in Shanghai.
func said(t *testing.T, text string) string {
	t.Helper()
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	d, err := schedule.Read(text, time.Date(2026, 11, 30, 16, 30, 0, 0, shanghai), shanghai)
	switch {
	case errors.Is(err, schedule.ErrPast):
		return "past"
	case err != nil:
		return "error"
	case d.At != nil:
		return d.At.In(shanghai).Format("2006-01-02 15:04") + " | " + d.Prompt
	}
	return d.Schedule + " | " + d.Prompt
}

func TestReadRepeating(t *testing.T) {
	for text, want := range map[string]string{
		`"0 9 * * 1-5" 总结昨天`:              "0 9 * * 1-5 | 总结昨天",
		`“0 9 * * 1-5” 总结昨天`:              "0 9 * * 1-5 | 总结昨天",
		`0 9 * * 1-5 总结昨天`:                "0 9 * * 1-5 | 总结昨天",
		`*/5 * * JAN MON look`:            "*/5 * * JAN MON | look",
		"every 10m check the build":       "@every 10m | check the build",
		"every 1h30m look":                "@every 1h30m | look",
		"Every 2 hours stretch":           "@every 2h | stretch",
		"@every 45s ping":                 "@every 45s | ping",
		"every hour look":                 "@every 1h | look",
		"every minute look":               "@every 1m | look",
		"every half hour look":            "@every 30m | look",
		"hourly look":                     "@every 1h | look",
		"每10分钟 看看":                        "@every 10m | 看看",
		"每隔2小时喝水":                         "@every 2h | 喝水",
		"每两个小时喝水":                         "@every 2h | 喝水",
		"每小时喝水":                           "@every 1h | 喝水",
		"每半小时喝水":                          "@every 30m | 喝水",
		"每分钟看看":                           "@every 1m | 看看",
		"每天9点站会":                          "0 9 * * * | 站会",
		"每天早上九点半 站会":                      "30 9 * * * | 站会",
		"每日 18:30,写日报":                    "30 18 * * * | 写日报",
		"每天晚上12点备份":                       "0 0 * * * | 备份",
		"every day at 9:15 stand up":      "15 9 * * * | stand up",
		"daily 6pm go home":               "0 18 * * * | go home",
		"every day at 9 stand up":         "0 9 * * * | stand up",
		"工作日9点站会":                         "0 9 * * 1-5 | 站会",
		"每个工作日上午10点:站会":                   "0 10 * * 1-5 | 站会",
		"every weekday at 9:00 stand up":  "0 9 * * 1-5 | stand up",
		"weekdays 9am stand up":           "0 9 * * 1-5 | stand up",
		"周一到周五下午5点 写日报":                   "0 17 * * 1,2,3,4,5 | 写日报",
		"每周五至周日 20:00 看球":                 "0 20 * * 0,5,6 | 看球",
		"mon-fri 9:00 stand up":           "0 9 * * 1,2,3,4,5 | stand up",
		"周末10点睡懒觉":                        "0 10 * * 0,6 | 睡懒觉",
		"每周一9点 周会":                        "0 9 * * 1 | 周会",
		"每周日下午三点洗车":                       "0 15 * * 0 | 洗车",
		"每星期天9点洗车":                        "0 9 * * 0 | 洗车",
		"每周一三五 18:30 跑步":                  "30 18 * * 1,3,5 | 跑步",
		"每周二、周四 8点 英语":                    "0 8 * * 2,4 | 英语",
		"每周一三点开会":                         "0 3 * * 1 | 开会",
		"every monday at 9:00 plan":       "0 9 * * 1 | plan",
		"every mon, wed and fri 7am run":  "0 7 * * 1,3,5 | run",
		"Tuesdays at noon lunch together": "0 12 * * 2 | lunch together",
		"9am every day stand up":          "0 9 * * * | stand up",
		"at 9:30 on weekdays stand up":    "30 9 * * 1-5 | stand up",
		"每月1号9点 交房租":                      "0 9 1 * * | 交房租",
		"每个月十五日 10:00 发工资":                "0 10 15 * * | 发工资",
		"every month on the 1st at 9 pay": "0 9 1 * * | pay",
	} {
		if got := said(t, text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestReadOnce(t *testing.T) {
	for text, want := range map[string]string{
		"10m call back":                    "2026-11-30 16:40 | call back",
		"1h30m call back":                  "2026-11-30 18:00 | call back",
		"in 2 days renew":                  "2026-12-02 16:30 | renew",
		"in an hour call":                  "2026-11-30 17:30 | call",
		"in half an hour call":             "2026-11-30 17:00 | call",
		"30分钟后提醒我":                         "2026-11-30 17:00 | 提醒我",
		"半小时后提醒我":                          "2026-11-30 17:00 | 提醒我",
		"两小时后提醒我":                          "2026-11-30 18:30 | 提醒我",
		"一天后提醒我":                           "2026-12-01 16:30 | 提醒我",
		"18:00 go home":                    "2026-11-30 18:00 | go home",
		"at 18:00 go home":                 "2026-11-30 18:00 | go home",
		"6pm go home":                      "2026-11-30 18:00 | go home",
		"at 6:05 p.m. go home":             "2026-11-30 18:05 | go home",
		"at 18 go home":                    "2026-11-30 18:00 | go home",
		"9:15 stand up":                    "2026-12-01 09:15 | stand up", // passed today
		"noon lunch":                       "2026-12-01 12:00 | lunch",
		"midnight backup":                  "2026-12-01 00:00 | backup",
		"12am backup":                      "2026-12-01 00:00 | backup",
		"18:00 daily report":               "2026-11-30 18:00 | daily report",
		"tomorrow 9:15 stand up":           "2026-12-01 09:15 | stand up",
		"tomorrow at 9 stand up":           "2026-12-01 09:00 | stand up",
		"at 9:15 tomorrow stand up":        "2026-12-01 09:15 | stand up",
		"at 18:00 tomorrow's plan":         "2026-11-30 18:00 | tomorrow's plan",
		"tonight 8 watch":                  "error",
		"tonight at 8 watch":               "2026-11-30 20:00 | watch",
		"friday 18:00 go home":             "2026-12-04 18:00 | go home",
		"monday 18:00 go home":             "2026-11-30 18:00 | go home",
		"monday 9:00 plan":                 "2026-12-07 09:00 | plan", // passed today
		"next monday 9:00 plan":            "2026-12-07 09:00 | plan",
		"at 9:00 on friday plan":           "2026-12-04 09:00 | plan",
		"2026-12-24 20:00 sing":            "2026-12-24 20:00 | sing",
		"on dec 24 at 8pm sing":            "2026-12-24 20:00 | sing",
		"January 2nd, 9:00 begin":          "2027-01-02 09:00 | begin",
		"明天9点 站会":                          "2026-12-01 09:00 | 站会",
		"明天九点站会":                           "2026-12-01 09:00 | 站会",
		"明早8点站会":                           "2026-12-01 08:00 | 站会",
		"明天晚上8点半看球":                        "2026-12-01 20:30 | 看球",
		"今晚8点看球":                           "2026-11-30 20:00 | 看球",
		"今晚12点备份":                          "2026-12-01 00:00 | 备份",
		"明天下午3点半开会":                        "2026-12-01 15:30 | 开会",
		"明天下午三点一刻开会":                       "2026-12-01 15:15 | 开会",
		"后天 10:05 交报告":                     "2026-12-02 10:05 | 交报告",
		"大后天中午12点吃饭":                       "2026-12-03 12:00 | 吃饭",
		"今天 17点20分 下班":                     "2026-11-30 17:20 | 下班",
		"今天17点20下班":                        "2026-11-30 17:20 | 下班",
		"今天17点3个会议":                        "2026-11-30 17:00 | 3个会议",
		"晚上8点看球":                           "2026-11-30 20:00 | 看球",
		"凌晨2点备份":                           "2026-12-01 02:00 | 备份",
		"周五18点下班":                          "2026-12-04 18:00 | 下班",
		"下周一9点周会":                          "2026-12-07 09:00 | 周会",
		"下星期天9点洗车":                         "2026-12-13 09:00 | 洗车",
		"12月24日晚上8点唱歌":                     "2026-12-24 20:00 | 唱歌",
		"1月2号9点开工":                         "2027-01-02 09:00 | 开工",
		"2026年12月24日 20:00 唱歌":             "2026-12-24 20:00 | 唱歌",
		"2026-12-01T09:00:00+08:00 a form": "error",
	} {
		if got := said(t, text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestReadNothing(t *testing.T) {
	for text, want := range map[string]string{
		"": "error", "hello": "error", "18:00": "error", "25:00 x": "error", "24:00 x": "error", "18:60 x": "error", "13pm x": "error", "0am x": "error",
		"0m x": "error", "99999999d x": "error", "every 1ms x": "error", "every 0h x": "error", "10meters of rope": "error",
		"60 9 * * 1 x": "error", `"TZ=0 9 * * *" x`: "error", `"0 0 30 2 *" x`: "error", `"0 9 * * 7" x`: "error", `"0 9 * *" x`: "error",
		"每天看看": "error", "every day look": "error", "每月32号9点 x": "error", "每周一晚上12点 x": "error", "monday report": "error",
		"2026-02-30 9:00 x": "error", "2月30日9点 x": "error", "every team member reports": "error", "9 things to do": "error",
		"today 9:00 x": "past", "今天9点 x": "past", "2020-01-01 9:00 x": "past",
	} {
		if got := said(t, text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestReadTimeStandsAlone(t *testing.T) {
	now := time.Date(2026, 11, 30, 16, 30, 0, 0, time.UTC)
	if d, err := schedule.ReadTime("0 9 * * 1-5", now, time.UTC); err != nil || d.Schedule != "0 9 * * 1-5" {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := schedule.ReadTime(" 明天9点 ", now, time.UTC); err != nil || !d.At.Equal(now.Add(16*time.Hour+30*time.Minute)) {
		t.Errorf("%+v, %v", d, err)
	}
	for _, text := range []string{"", "18:00 x", "soon"} {
		if d, err := schedule.ReadTime(text, now, time.UTC); err == nil {
			t.Errorf("%q: %+v", text, d)
		}
	}
}

// In two days is the same time of the day, though the clocks change in between.
func TestReadDaysAcrossAClockChange(t *testing.T) {
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	d, err := schedule.Read("2 days renew", time.Date(2026, 3, 7, 9, 0, 0, 0, newYork), newYork)
	if want := time.Date(2026, 3, 9, 9, 0, 0, 0, newYork); err != nil || !d.At.Equal(want) {
		t.Errorf("%v, %v", d, err)
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{"每周一三五 18:30 跑步", "every mon, wed and fri 7am run", `"0 9 * * 1-5" x`, "in 2 days x", "12月24日晚上8点 x", "十十点 x", "1h30m x"} {
		f.Add(seed)
	}
	now := time.Date(2026, 11, 30, 16, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		d, err := schedule.Read(text, now, time.UTC)
		if err == nil && ((d.Schedule == "") == (d.At == nil) || d.Prompt == "" || d.At != nil && !d.At.After(now)) {
			t.Errorf("%q: %+v", text, d)
		}
	})
}

// What docs/tasks.md says of each phrase is what is understood, in both languages.
func TestDocumentedPhrases(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `([^`]+) (?:TEXT|内容)` \\| `([^`]+)` \\|")
	for _, name := range []string{"tasks.md", "tasks.zh.md"} {
		text, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		rows := row.FindAllStringSubmatch(string(text), -1)
		for _, m := range rows {
			if got := said(t, m[1]+" x"); got != m[2]+" | x" {
				t.Errorf("%s: %q is %q, not %q", name, m[1], got, m[2])
			}
		}
		if len(rows) < 15 {
			t.Errorf("%s has %d phrases", name, len(rows))
		}
	}
}
