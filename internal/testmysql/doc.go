// Package testmysql gives tests a database of their own on a real MySQL or MariaDB.
//
// The server is the first of these that there is:
//
//   - the one named by CHATKEEP_TEST_MYSQL_DSN, which needs the right to create databases;
//   - one that answers on 127.0.0.1:3306 to root without a password;
//   - a private mariadbd on a free port with a data directory of its own, shared by
//     all test processes of the user and stopped once none of them lives. The Debian
//     package is installed first where it is missing and that is possible.
//
// Where none works the test fails and says what to do. Nothing is ever skipped.
//
// The package must not know any schema: a database is handed over empty.
package testmysql
