import type { Page } from '@nextvisit/testing/browser'

/** How a screen behaved. */
export interface ScreenFigures {
  /** The longest time in which the page could not react, ms. */
  readonly longestTaskMs: number
  /** All times of more than 50 ms, ms. */
  readonly longTasksMs: number
  readonly elements: number
}

const LOOKED_AT_MS = 7_000
const WHEEL_PX = 20_000

// Code of the page is text: its types are a browser's.
const NOTE_LONG_TASKS = `
  globalThis.longTasks = []
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map(({ duration }) => duration)))
    .observe({ type: 'longtask', buffered: true })`
const FIGURES = `({
  longestTaskMs: Math.max(0, ...longTasks),
  longTasksMs: longTasks.reduce((sum, ms) => sum + ms, 0),
  elements: document.querySelectorAll('*').length,
})`

/** Has a page note its long tasks, from its first one. */
export async function noteLongTasks(page: Page): Promise<void> {
  await page.addInitScript({ content: NOTE_LONG_TASKS })
}

/** Opens a screen, waits until it shows `sign`, and looks at it for long enough that it loads once more, scrolling down. */
export async function watchScreen(page: Page, url: string, sign: string): Promise<ScreenFigures> {
  await page.goto(url)
  await page.getByText(sign).first().waitFor()
  await page.mouse.move(400, 400)
  await page.mouse.wheel(0, WHEEL_PX)
  await page.waitForTimeout(LOOKED_AT_MS)
  return page.evaluate<ScreenFigures>(FIGURES)
}
