/** Tests of the time limit of asynchronous work, with a timer that the test fires. */
import { expect } from 'chai'
import { isTimeout, withDeadline } from '../../base/deadline.ts'

describe('a deadline', () => {
  let fire: (() => void) | undefined
  const timer = (callback: () => void) => {
    fire = callback
    return () => (fire = undefined)
  }
  const never = () => new Promise<never>(() => undefined)
  const failureOf = (work: Promise<unknown>) =>
    work.then(
      () => undefined,
      (cause: unknown) => cause,
    )

  it('returns the result of the work, cancels its timer, and aborts what the work left open', async () => {
    let left: AbortSignal | undefined
    const work = async (openSignal: () => AbortSignal) => {
      left = openSignal()
      expect(left.aborted).to.equal(false)
      return 1
    }
    expect(await withDeadline({ timer, milliseconds: 1 }, work)).to.equal(1)
    expect(fire).to.equal(undefined)
    expect(left?.aborted).to.equal(true)
  })

  it('passes on the failure of the work', async () => {
    const cause = new Error('failed')
    expect(await failureOf(withDeadline({ timer, milliseconds: 1 }, () => Promise.reject(cause)))).to.equal(cause)
    expect(fire).to.equal(undefined)
  })

  it('fails with a TimeoutError after the limit, also if the work fails because of its signal', async () => {
    expect(isTimeout(new Error('failed'))).to.equal(false)
    const stuck = failureOf(withDeadline({ timer, milliseconds: 1 }, never))
    fire?.()
    expect(isTimeout(await stuck)).to.equal(true)

    let signal: AbortSignal | undefined
    const aborted = failureOf(
      withDeadline({ timer, milliseconds: 1 }, (openSignal) => {
        signal = openSignal()
        return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted'))))
      }),
    )
    fire?.()
    expect(isTimeout(await aborted)).to.equal(true)
    expect(isTimeout(signal?.reason)).to.equal(true)
  })

  it('ends with the signal of the caller, also if that is aborted at the start', async () => {
    const stopping = new AbortController()
    const running = failureOf(withDeadline({ timer, milliseconds: 1, signal: stopping.signal }, never))
    stopping.abort()
    expect(isTimeout(await running)).to.equal(true)
    const late = failureOf(withDeadline({ timer, milliseconds: 1, signal: stopping.signal }, never))
    expect(isTimeout(await late)).to.equal(true)
    expect(fire).to.equal(undefined)
  })
})
