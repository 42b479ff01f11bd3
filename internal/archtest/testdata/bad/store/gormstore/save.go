// Package gormstore uses what gorm does behind our back.
package gormstore

import "gorm.io/gorm"

func save(db *gorm.DB, row any) {
	db.Save(row)                             // want method
	db.Where("id = ?", 1).FirstOrCreate(row) // want method
	_ = db.AutoMigrate(row)                  // want method
}
