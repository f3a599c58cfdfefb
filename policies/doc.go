// Package policies will hold symptoms, diagnoses, actions and the policies that join them
// (Dhalion). It is to stay pure: a decision is a function of snapshot, history and time. Nothing
// lives here yet.
package policies
