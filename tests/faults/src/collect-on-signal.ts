/** Preloaded into the services of a campaign, so that what they hold can be told from what they have dropped. */
process.on('SIGUSR2', () => {
  globalThis.gc?.()
  globalThis.gc?.() // what the first one finalized
})
