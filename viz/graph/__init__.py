"""From a record to the graph that is drawn: its passes, boxes, frames and cuts."""
