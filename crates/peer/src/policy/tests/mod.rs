//! Golden scripts of single requests, and a world in which random requests meet random owners.

mod scripts;
mod world;
