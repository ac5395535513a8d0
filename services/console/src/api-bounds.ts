/** Bounds of inputs that forms and addresses of pages respect, too. Pages import them: keep this file free of imports. */
export const MAX_WORKSPACE_CHARACTERS = 262_144
export const MAX_SIMULATED_DAYS = 90
/** Each step of a timeline reads the same number of records further back. */
export const MAX_DEPTH = 5
