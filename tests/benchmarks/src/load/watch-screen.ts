import type { Page } from '@nextvisit/testing/browser'

/** Responsiveness of a screen. */
interface ScreenFigures {
  /** Longest time in ms in which the page was blocked. */
  readonly longestTaskMs: number
  /** Sum of blocked times of more than 50 ms, in ms. */
  readonly longTasksMs: number
  readonly elements: number
}

const LOOKED_AT_MS = 7_000
const WHEEL_PX = 20_000

// Code of the page is text, because it has a browser's types.
const NOTE_LONG_TASKS = `
  globalThis.longTasks = []
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask', buffered: true })`
const FIGURES = `({
  longestTaskMs: Math.max(0, ...longTasks),
  longTasksMs: longTasks.reduce((sum, ms) => sum + ms, 0),
  elements: document.querySelectorAll('*').length,
})`

/** Makes a page record its long tasks from the start. */
export async function noteLongTasks(page: Page): Promise<void> {
  await page.addInitScript({ content: NOTE_LONG_TASKS })
}

/** Opens a screen, waits until it shows `sign`, scrolls down, and stays until it has refreshed once. */
export async function watchScreen(page: Page, url: string, sign: string): Promise<ScreenFigures> {
  await page.goto(url)
  await page.getByText(sign).first().waitFor()
  await page.mouse.move(400, 400)
  await page.mouse.wheel(0, WHEEL_PX)
  await page.waitForTimeout(LOOKED_AT_MS)
  return page.evaluate<ScreenFigures>(FIGURES)
}
