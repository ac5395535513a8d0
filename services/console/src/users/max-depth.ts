/** How many steps back in the log a timeline may read. Pages import it, too, so this file imports nothing. */
export const MAX_DEPTH = 5
