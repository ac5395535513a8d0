/** Returns true if the page is hidden. */
export function isHidden(): boolean {
  return document.hidden
}

/**
 * Calls `onPage` when a single-page application shows another URL. Returns a function that stops it. It listens to the
 * Navigation API; without that, it wraps `history.pushState` and `replaceState`.
 */
export function watchNavigation(onPage: () => void): () => void {
  let url = location.href
  const check = () => {
    if (url === location.href) return
    url = location.href
    onPage()
  }
  const navigation: EventTarget | undefined = (globalThis as { navigation?: EventTarget }).navigation
  if (navigation) return listen(navigation, 'currententrychange', check)
  const ends = [listen(globalThis, 'popstate', check), wrap('pushState', check), wrap('replaceState', check)]
  return () => ends.forEach((end) => end())
}

/** Adds an event listener. Returns a function that removes it. */
export function listen(target: EventTarget, event: string, handle: (event: Event) => void): () => void {
  target.addEventListener(event, handle)
  return () => target.removeEventListener(event, handle)
}

function wrap(name: 'pushState' | 'replaceState', afterwards: () => void): () => void {
  const original = history[name]
  let isEnded = false
  const wrapped: History['pushState'] = (...parameters) => {
    original.apply(history, parameters)
    if (!isEnded) afterwards()
  }
  history[name] = wrapped
  return () => {
    isEnded = true
    // Skipped if other code has wrapped it again.
    if (history[name] === wrapped) history[name] = original
  }
}
