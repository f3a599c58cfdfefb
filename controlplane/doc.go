// Package controlplane will hold what decides and acts over running topologies: the store of
// intent, sensing, placement, health, schedulers and the flow network. Nothing lives here yet.
package controlplane
