/** What the program has of the buyer. `main.ts` connects the two, because neither room imports the other. */
import type { AddCommand, CommandContext, CommandResult, FindService } from '../../command-line/context.ts'
import type { ReceiptClaims } from '../../payment/receipt/claims.ts'
import type { ReceiptCheck } from '../../payment/receipt/verify.ts'
import type { Mode } from '../../payment/terms.ts'
import type { publicChecks } from '../check/public-url.ts'
import type { Fetch } from '../../../store/base/bounded-fetch.ts'

export interface BuyerProgram {
  /** The commands that buy. A service of this machine is their default. */
  commands: (findService: FindService) => readonly AddCommand[]
  /** Loads the actions only when a command needs them. */
  loadActions: () => Promise<BuyerActions>
}

interface BuyerActions {
  verifyCard: Parameters<typeof publicChecks>[2]
  /** Prints one line for each check of a purchase or an answer. */
  verifyFile: (options: {
    file: string
    receiptFile: string | undefined
    issuer: string | undefined
    keySetFile: string | undefined
    /** Checks that need the chain or the register. */
    further: (claims: ReceiptClaims, answer: unknown) => Promise<ReceiptCheck[]>
    fetch: Fetch
    print: (line: string) => void
  }) => Promise<boolean>
  buyAnswer: (
    context: CommandContext,
    options: {
      operation: string
      input: Record<string, unknown>
      mode: Mode
      baseUrl: string
      keyFile: string
      purchasesDirectory: string
    },
  ) => Promise<CommandResult>
}
