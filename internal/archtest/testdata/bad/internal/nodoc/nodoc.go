package nodoc // want doc
