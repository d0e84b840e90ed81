/** What a method of the library returns: the answer, its receipt on demand, and the pages that follow. */
import type { CallOptions } from './buy.ts'
import { requireAmount } from './open-buyer.ts'
import { ConfigurationError, PurchaseError } from './purchase-error.ts'

/** Of one call. What it sets wins over the options of the buyer. */
export type MethodOptions = Pick<CallOptions, 'signal' | 'timeoutMs' | 'maxAgeSeconds' | 'amountMax'>

/** Of a call whose pages are read one after another. */
export interface PageOptions extends MethodOptions {
  /**
   * The highest sum of all pages of the iteration, in micro-USDC. Pages that were bought before count, so that an
   * iteration which is begun again signs no more than one that was never interrupted.
   */
  totalMax: number
}

/** An answer with what proves and costs it. */
export interface AnswerWithReceipt<Answer> {
  answer: Answer
  /** The receipt, a JWT signed by the service, for `verifyReceipt`. */
  receipt: string
  /** `unchecked`: the key set could not be read. A wrong receipt is an error. */
  receiptCheck: 'valid' | 'unchecked'
  /** What was charged for the answer, in micro-USDC. Each call that returns the answer of this file has it. */
  amountCharged: number
  /** The file of the purchase. */
  file: string
}

/** The answer. */
export interface PurchaseCall<Answer> extends Promise<Answer> {
  /** The answer with its receipt, the charged amount and the file. It is that of this call, and costs nothing more. */
  withReceipt: () => Promise<AnswerWithReceipt<Answer>>
}

/** The first page, or with `for await` all pages, each of which is bought when it is asked for. */
export interface PagesCall<Answer> extends PurchaseCall<Answer>, AsyncIterable<Answer> {}

/** A caller who only asks for the receipt gets a failure once, not also as an unhandled rejection. */
export function toCall<T>(bought: Promise<AnswerWithReceipt<T>>): PurchaseCall<T> {
  const answered = bought.then(({ answer }) => answer)
  const withReceipt = () => {
    answered.catch(() => undefined)
    return bought
  }
  return Object.assign(answered, { withReceipt })
}

/** The members of the input that ask for the page after an answer. Undefined after the last page. */
export type Next<T> = (answer: T) => Record<string, string> | undefined

interface Pages<T> {
  input: object
  options: Partial<PageOptions>
  next: Next<T>
  buyPage: (input: object, options: CallOptions) => Promise<AnswerWithReceipt<T>>
  now: () => Date
}

/** The first page is bought after the caller could ask for all of them, so that none is bought without a total. */
export function createPages<T>({ input, options, next, buyPage, now }: Pages<T>): PagesCall<T> {
  const { totalMax, maxAgeSeconds, ...others } = options
  const begun = now().getTime()
  let isIterated = false
  const requireTotal = () => {
    if (totalMax !== undefined) requireAmount('totalMax', totalMax)
    else if (isIterated)
      throw new ConfigurationError('totalMax', 'is missing: the highest sum of all pages in micro-USDC')
  }
  const buy = (page: object, charged: number) => {
    requireTotal()
    return buyPage(page, {
      ...others,
      // A page that was bought since is never too old for an iteration that is begun again.
      ...(maxAgeSeconds !== undefined && { maxAgeSeconds: maxAgeSeconds + (now().getTime() - begun) / 1000 }),
      ...(totalMax !== undefined && { amountLeft: totalMax - charged }),
    })
  }
  let first: Promise<AnswerWithReceipt<T>> | undefined = Promise.resolve().then(() => buy(input, 0))
  const call = toCall(first)

  async function* iterate(): AsyncGenerator<T, void> {
    requireTotal()
    let charged = 0
    const asked = new Set<string>()
    for (let more: ReturnType<Next<T>> = {}; more;) {
      const page = { ...input, ...more }
      const bought = first ?? buy(page, charged)
      first = undefined
      const { answer, amountCharged, file } = await bought
      charged += amountCharged
      yield answer
      more = next(answer)
      const key = JSON.stringify(more)
      if (asked.has(key)) throw new PurchaseError('answer_unexpected', 'The pages have no end', { file })
      asked.add(key)
    }
  }
  const pages = () => {
    isIterated = true
    call.withReceipt().catch(() => undefined)
    return iterate()
  }
  return Object.assign(call, { [Symbol.asyncIterator]: pages })
}
