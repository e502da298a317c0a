// SPDX-License-Identifier: Apache-2.0
// The plugin for inverse_dynamics_solver without ROS: what each function answers, a row each; errors as text.
#include <cstdio>
#include <map>
#include <memory>

#include "arm/arm.hpp"
#include "inverse_dynamics_solver/inverse_dynamics_solver.hpp"

inverse_dynamics_solver::InverseDynamicsSolver * make_plugin();

struct Parameters : rclcpp::node_interfaces::NodeParametersInterface
{
  std::map<std::string, rclcpp::Parameter> values;
  bool get_parameter(const std::string & name, rclcpp::Parameter & parameter) const override
  {
    const auto found = values.find(name);
    if (found != values.end()) parameter = found->second;
    return found != values.end();
  }
};

static void show(const char * what, const Eigen::MatrixXd & values)
{
  std::printf("%s", what);
  for (Eigen::Index i = 0; i < values.size(); ++i) std::printf(" %.17g", values.data()[i]);
  std::printf("\n");
}

template <class Call>
static void fails(Call call)
{
  try {
    call();
    std::printf("nothing\n");
  } catch (const std::exception & error) {
    std::printf("error: %s\n", error.what());
  }
}

int main()
{
  std::unique_ptr<inverse_dynamics_solver::InverseDynamicsSolver> solver(make_plugin());
  Eigen::VectorXd q(arm::nq), v(arm::nv), a(arm::nv);
  for (std::size_t i = 0; i < arm::nv; ++i) q[i] = 0.1 * (i + 1), v[i] = 0.2 * (i + 1), a[i] = 1.0 - 0.3 * i;
  fails([&] { solver->getGravityVector(q); });
  fails([&] { solver->initialize(nullptr, "", "<robot/>"); });
  auto parameters = std::make_shared<Parameters>();
  parameters->values.emplace("arm.payload.frame", rclcpp::Parameter(std::string("nowhere")));
  parameters->values.emplace("arm.payload.mass", rclcpp::Parameter(0.7));
  fails([&] { solver->initialize(parameters, "arm", ""); });
  parameters->values["arm.payload.frame"] = rclcpp::Parameter(std::string(arm_frame_names[ARM_FRAMES - 1]));
  solver->initialize(parameters, "arm", "");
  show("M", solver->getInertiaMatrix(q));
  show("C", solver->getCoriolisVector(q, v));
  show("N", solver->getGravityVector(q));
  show("F", solver->getFrictionVector(v));
  show("tau", solver->getTorques(q, v, a));
  fails([&] { solver->getGravityVector(Eigen::VectorXd::Zero(1)); });
  fails([&] { solver->getGravityVector(q * NAN); });
}
