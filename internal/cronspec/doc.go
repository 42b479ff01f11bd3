// Package cronspec says when schedules come: five cron fields in a zone, or @every
// counted from a moment.
//
// robfig/cron reads the fields. When they come is decided here, because its own
// answer skips a daily time that the clocks jump over and repeats one that they
// go back over:
//
//   - A schedule that names hours means times of the day. One that does not exist on
//     a day, because the clocks go forward, comes at the moment they do so; several
//     become one. One that exists twice comes the first time. A day that the zone
//     leaves out altogether has no times.
//   - A schedule for every hour (hour field *) means real time: it comes in every
//     hour that there is, in a repeated hour again.
//   - @every is real time from its anchor on; clocks that change do not move it.
//
// Weekdays are 0 (Sunday) to 6 or SUN to SAT; 7 is refused. If both day of month
// and day of week are given, a day that matches either counts.
//
// The package must not know what is scheduled.
package cronspec
