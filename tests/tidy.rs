//! Tests that hold the house: layers, sizes, headers, the map.
