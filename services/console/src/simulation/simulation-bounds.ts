/** Of a simulation; pages import them, too, so this file imports nothing. */
export const MAX_WORKSPACE_CHARACTERS = 262_144
export const MAX_SIMULATED_DAYS = 90
