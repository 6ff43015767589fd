#include "lab/examples.hpp"

namespace undertone::lab {

std::vector<service::Example> examples() {
  return {
      {"undertone provision consortium.json --out net",
       "A consortium's certificate authority, and a start-up kit for each of its parties."},
      {"undertone provision sign request.pem --authority net/authority --out certificate.pem",
       "Sign a party's request. The digest of its key is shown and asked for: have the party read it out by "
       "telephone."},
      {"undertone validate job.json", "Everything that is wrong with a job's file, with the place of each problem."},
      {"undertone plan job.json",
       "What each silo would release and pay, the noise of the mean, and what theory promises: before anybody runs "
       "it."},
      {"undertone advise job.json",
       "What a job's public records are good for: alone, beside the silos, and how many would make privacy free."},
      {"undertone simulate job.json --out results --seed 1",
       "Run it on this machine, on data that the job's simulation section names. The result is not private."},
      {"undertone simulate job.json --out results --set /algorithm/step_size=0.5 --set '/cohort/*/epsilon=2'",
       "The same with other values; * stands for every element of an array."},
      {"undertone submit job.json --config kit/operator.json",
       "Queue the job at the coordinator. UNDERTONE_OPERATOR may name the kit's file instead."},
      {"undertone watch breast-cancer",
       "Follow the newest run of that name: whose owners are awaited, until when, then a progress bar with the time "
       "left."},
      {"undertone status breast-cancer", "Who has accepted, who has refused and why, who is missing."},
      {"undertone export breast-cancer --out results", "The job, the result, the model and a line a round."},
      {"undertone report results", "One HTML page for them that needs no network: results/report.html."},
      {"undertone compare breast-cancer results", "Runs, or folders of results, side by side."},
      {"undertone predict results/model.json patients.csv --out predictions.csv",
       "The model's predictions for the records of a file."},
      {"undertone sweep sweep.json --out tuned --threads 2",
       "Vary values of a job, with several seeds each; goes on where it was stopped."},
      {"undertone account gaussian --sigma 4 --sensitivity 1 --steps 100 --delta 1e-6",
       "Epsilon of a hundred Gaussian releases."},
      {"undertone ledger verify main.sqlite --head main.head.json --dataset main",
       "Recount a silo's ledger with code that shares nothing with the silo's."},
  };
}

}  // namespace undertone::lab
